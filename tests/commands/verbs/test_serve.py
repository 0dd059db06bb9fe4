import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.commands.running import PROJECT, scrapy
from tests.waiting import wait_for
from tests.warm import WarmProcess, start_scrapy

SECONDS = 60


@contextmanager
def serving_in(folder: Path, *words: str) -> Iterator[tuple[WarmProcess, Any]]:
    """Run the server; give its process and what it printed."""
    out = folder / "out"
    command = ["dedup", "serve", "--port", "0", "--json", *words]
    process = start_scrapy(command, folder, os.environ, stdout=out, stderr=folder / "err")
    try:
        wait_for(lambda: process.poll() is not None or (out.exists() and out.read_text().endswith("}\n")))
        yield process, json.loads(out.read_text())
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)


def _token(url: str) -> str:
    return parse_qs(urlsplit(url).query)["token"][0]


def test_it_serves_until_ctrl_c_ends_it(shop):
    with serving_in(shop.folder, *shop.settings, "-L", "INFO") as (process, printed):
        api = httpx.get(f"{printed['api']}projects", headers={"Authorization": f"Bearer {printed['token']}"})
        with httpx.Client(follow_redirects=True) as browser:
            page = browser.get(printed["url"])
        process.send_signal(signal.SIGINT)
        code = process.wait(SECONDS)
    err = (shop.folder / "err").read_text()

    assert printed["project"] == PROJECT
    assert [one["name"] for one in api.json()["projects"]] == [PROJECT]
    assert (page.status_code, "token" in str(page.url)) == (200, False)
    assert code == 0
    assert "GET /login 303" in err
    assert _token(printed["url"]) not in err
    assert "Traceback" not in err


def test_a_store_that_does_not_exist_is_served_empty_by_a_token_of_one_s_own_until_it_is_told_to_end(tmp_path):
    """Nor is a header without end kept."""
    token = "my-own-long-secret"
    with serving_in(tmp_path, "-s", f'DEDUP_SERVE={{"token": "{token}"}}') as (process, printed):
        stats = f"{printed['api']}projects/scrapybot/stats"
        found = httpx.get(stats, headers={"Authorization": f"Bearer {token}"})
        wrong = httpx.get(stats)
        parts = urlsplit(printed["api"])
        with socket.create_connection((parts.hostname or "", parts.port or 0), SECONDS) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 40_000)
            answer = client.recv(1_000)
        process.send_signal(signal.SIGTERM)
        code = process.wait(SECONDS)

    assert (found.json()["total"]["pages"], wrong.status_code) == (0, 401)
    assert token not in json.dumps(printed)
    assert answer.startswith(b"HTTP/1.1 400")
    assert (code, "Traceback" in (tmp_path / "err").read_text()) == (0, False)


MCP = pytest.mark.parametrize("mcp", [[], ["--mcp", "--http"]], ids=["serve", "mcp"])


@MCP
def test_a_project_that_is_not_among_others_is_a_slip(finished_shop, mcp):
    told = scrapy("dedup", "serve", *mcp[:1], "-s", "DEDUP_PROJECT=nosuch", folder=finished_shop.folder)

    assert (told.code, told.out) == (1, "")
    assert "no project 'nosuch' in the store: name it by DEDUP_PROJECT; there is 'shop'" in told.err
    assert '"nosuch"' not in scrapy("dedup", "store", "projects", "list", "--json", folder=finished_shop.folder).out


@MCP
@pytest.mark.parametrize(
    ("options", "why"),
    [
        pytest.param(["--host", "0.0.0.0"], "other machines can reach", id="none-for-other-machines"),
        pytest.param(["-s", 'DEDUP_SERVE={"token": "secret"}'], "has 6 characters: it needs at least 16", id="guessed"),
    ],
)
def test_without_a_token_that_nobody_guesses_nothing_is_served(tmp_path, mcp, options, why):
    told = scrapy("dedup", "serve", *mcp, *options, folder=tmp_path)

    assert (told.code, told.out) == (2, "")
    assert 'DEDUP_SERVE["token"]' in told.err
    assert why in told.err
    assert not (tmp_path / ".scrapy").exists()


@MCP
def test_a_port_that_is_taken_is_told(tmp_path, mcp):
    with socket.create_server(("127.0.0.1", 0)) as other:
        told = scrapy("dedup", "serve", *mcp, "--port", str(other.getsockname()[1]), folder=tmp_path)

    assert (told.code, told.out) == (1, "")
    assert "cannot listen on 127.0.0.1" in told.err
    assert "Name another by --host and --port" in told.err
    assert told.err.count("\n") == 1


def test_a_port_that_is_none_is_told(tmp_path):
    told = scrapy("dedup", "serve", "--port=70000", folder=tmp_path)

    assert told.code == 2
    assert 'serve["port"]' in told.err


def test_a_missing_extra_is_named(tmp_path):
    """A machine without FastAPI: a module of its name that is not there for `find_spec`."""
    blocker = tmp_path / "sitecustomize.py"
    blocker.write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, package=None: None if name == 'fastapi' else find(name, package)\n"
    )
    told = subprocess.run(  # noqa: PLW1510 (the test looks at the code)
        [sys.executable, "-m", "scrapy", "dedup", "serve"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )

    assert told.returncode == 1
    assert told.stderr == "scrapy dedup: serve needs fastapi: pip install 'scrapy_dedup[server]'\n"
