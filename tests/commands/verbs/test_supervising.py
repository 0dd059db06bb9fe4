"""A supervisor with small programs in place of crawls."""

import os
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from scrapy_dedup.commands.verbs.supervise import HEARTBEAT, Supervised, Supervisor
from scrapy_dedup.core.resilience.stalls import SupervisionPolicy
from tests.tables import table
from tests.waiting import is_running, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

POLICY = SupervisionPolicy(
    hung_after=timedelta(seconds=0.5), grace=timedelta(seconds=0.2), restarts=2, first_pause=timedelta(seconds=0.01)
)
COUNT = "import os, pathlib, signal, time; f = pathlib.Path('runs'); f.open('a').write('x'); n = len(f.read_text())\n"
BEAT = f"pathlib.Path(os.environ['{HEARTBEAT}']).touch()\n"
DEAF = "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def supervise(program: str) -> tuple[Supervised, list[str]]:
    told: list[str] = []
    return Supervisor([sys.executable, "-c", COUNT + program], POLICY, told.append).run(), told


def runs() -> int:
    return len(Path("runs").read_text())


@table("service/second_run_gets_on")
def test_second_run_gets_on(end, cause):
    program = "".join(f"    {line}\n" for line in end.splitlines())
    done, told = supervise(f"if n == 1:\n{program}")

    assert (done.exit_code, done.restarts, runs()) == (0, [cause], 2)
    assert f"{cause}; it is started again in 0.01 s" in told


def test_death_by_a_signal_gives_the_shells_exit_code():
    assert supervise("os.kill(os.getpid(), signal.SIGSEGV)")[0].exit_code == 128 + signal.SIGSEGV


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_is_handed_on_and_nothing_starts_again(number):
    handler = f"signal.signal({int(number)}, lambda *_: os._exit(75))\n"

    def send_when_it_runs() -> None:
        wait_for(Path("ready").exists)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send_when_it_runs)
    thread.start()
    before = signal.getsignal(number)
    done, _ = supervise(f"{handler}pathlib.Path('ready').touch()\ntime.sleep(60)")
    thread.join()

    assert (done.exit_code, done.reason, runs()) == (75, "it was asked to end", 1)
    assert signal.getsignal(number) == before


def test_what_hangs_takes_its_children_along():
    child = "import subprocess, sys; c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    note = "pathlib.Path('child').write_text(str(c.pid))\n"
    done, _ = supervise(f"if n == 1:\n    {child}    {note}    {DEAF}    {BEAT}    time.sleep(60)\n")
    pid = int(Path("child").read_text())

    assert done.restarts == ["it hung"]
    assert not is_running(pid)
