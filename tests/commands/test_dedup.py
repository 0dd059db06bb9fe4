import fcntl
import os
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from scrapy_dedup.commands.dedup import VERBS
from scrapy_dedup.commands.terminal import print_table
from tests.commands.learned import learned_shop
from tests.commands.running import SECONDS, Shop, here, scrapy
from tests.databases import locked
from tests.service.stored_pages import a_url, html_page, put
from tests.tables import table
from tests.warm import start_scrapy

__all__ = ["learned_shop"]

CALLS = {
    "templates analyze": ["templates", "analyze", "--dry-run"],
    "store cache": ["store", "cache", "stats"],
    # A date: an age would be another instant at each call.
    "changes": ["changes", "--since", "2026-01-01"],
    "store config": ["store", "config", "export"],
    "domains": ["domains", "list"],
    "explain": ["explain", a_url(0)],
    "store forget": ["store", "forget", "www.example.com", "--dry-run"],
    "templates layouts": ["templates", "layouts"],
    "templates mine": ["templates", "mine"],
    "store projects": ["store", "projects", "list"],
    "templates refine": ["templates", "refine", "--dry-run"],
    "report": ["report"],
    "runs": ["runs"],
    "report --domains": ["report", "--domains"],
    "store": ["store", "gc", "--dry-run", "--older-than", "5000d"],
    "templates": ["templates", "list"],
    "undo": ["undo", "--list"],
}
READING = [pytest.param(arguments, id=verb) for verb, arguments in CALLS.items()]
# For what all verbs have from one place.
SOME = READING[::4]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_every_verb_is_tried_here():
    """All but those that need no store: they have tests of their own."""
    actions = {"store forget", "store projects", "templates layouts"}
    others = {"clean", "clean --spark", "doctor", "serve", "serve --mcp", "supervise"}
    assert CALLS.keys() - actions | others | {"templates analyze-layout", "templates learn"} == VERBS.keys()


@table("wrong_calls/verbs")
def test_a_wrong_call_is_told_in_one_line_and_changes_nothing(finished_shop, learned_shop, call, code, message):
    shop = learned_shop[0] if call[:1] == ["templates"] and call[1:2] not in (["analyze"], ["mine"]) else finished_shop
    before = shop.file.read_bytes()

    told = shop.run(*call)

    assert (told.code, told.out) == (code, "")
    assert message in told.err
    assert told.err.count("\n") == 1
    assert told.err[:-1].isprintable()
    assert told.err.startswith("scrapy dedup")
    assert shop.file.read_bytes() == before


@pytest.mark.parametrize("arguments", SOME)
def test_settings_count_before_and_after_the_verb(finished_shop, arguments):
    folder = finished_shop.folder.parent
    chosen = ["-s", f"DEDUP_DATABASE_URL=sqlite:///{finished_shop.file}", "--set", "DEDUP_PROJECT=shop"]

    before = here("dedup", *chosen, *arguments, folder=folder)
    after = here("dedup", *arguments, *chosen, folder=folder)

    assert (before.code, before.err) == (0, "")
    assert before.out
    assert before == after


@pytest.mark.parametrize("arguments", READING)
def test_json_is_all_that_a_program_reads(finished_shop, arguments):
    told = finished_shop.run(*arguments, "--json")

    assert (told.code, told.err) == (0, "")
    assert isinstance(told.json, dict)
    assert told.out.isascii()


@pytest.mark.parametrize("arguments", READING)
def test_what_only_reads_waits_for_nobody_and_needs_no_right_to_write(shop, arguments):
    told = shop.run(*arguments)
    with locked(shop.file):
        assert shop.run(*arguments, "-s", "DEDUP_DATABASE_TIMEOUT=0.2") == told
    shop.file.chmod(0o444)
    shop.file.parent.chmod(0o555)
    before = files(shop.folder)

    assert shop.run(*arguments) == told
    assert (told.code, told.err, files(shop.folder)) == (0, "", before)


@pytest.mark.parametrize("arguments", READING)
def test_without_a_store_nothing_is_created(tmp_path, arguments):
    told = here("dedup", *arguments, folder=tmp_path)

    assert (told.code, told.out) == (1, "")
    assert "there is none yet. Run a crawl first" in told.err
    assert told.err.count("\n") == 1
    assert files(tmp_path) == []


@pytest.mark.parametrize("arguments", SOME)
def test_an_empty_store_says_what_to_do(tmp_path, arguments):
    Shop(tmp_path).open().close()

    told = here("dedup", *arguments, folder=tmp_path)

    assert (told.code, told.out) == (1, "")
    assert "the store is empty: run a crawl first" in told.err


@table("commands/projects_without")
def test_a_project_without_pages_says_what_to_do(tmp_path, call, told):
    shop = Shop(tmp_path)
    with shop.open() as store:
        shop.project(store)

    done = shop.run(*call.split())

    assert (done.code, done.out) == (1, "")
    assert told in done.err


@pytest.mark.parametrize("call", ["store forget www.example.com <&-", "store config import - <&-", "runs >&-"])
def test_a_closed_stream_is_an_empty_one(finished_shop, call):
    settings, python = shlex.join(finished_shop.settings), shlex.quote(sys.executable)
    line = f"{python} -m scrapy dedup {settings} {call}"

    done = subprocess.run(["sh", "-c", line], cwd=finished_shop.folder, capture_output=True, text=True, check=False)

    assert "Traceback" not in done.stderr


def test_a_project_that_is_not_there_is_told_with_those_that_are(finished_shop):
    told = here("dedup", "report", "--domains", folder=finished_shop.folder)

    assert told.code == 1
    assert "no project 'scrapybot' in the store: name it by DEDUP_PROJECT; there is 'shop'" in told.err


def test_a_file_that_is_no_store_stays_as_it_is(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database")

    told = here("dedup", "report", "--domains", "-s", f"DEDUP_DATABASE_URL=sqlite:///{file}", folder=tmp_path)

    assert (told.code, told.out) == (1, "")
    assert "is not a SQLite database" in told.err
    assert told.err.count("\n") == 1
    assert files(tmp_path) == [file]


def test_inside_a_scrapy_project_its_settings_and_its_store_count(shop):
    (shop.folder / "scrapy.cfg").write_text("[settings]\ndefault = teashop\n")
    (shop.folder / "teashop.py").write_text('BOT_NAME = "shop"\nADDONS = {"scrapy_dedup.Addon": 700}\n')
    below = shop.folder / "below"
    below.mkdir()

    told = scrapy("dedup", "report", "--domains", "--json", folder=below)

    assert (told.code, told.err) == (0, "")
    assert told.json["project"] == "shop"


def test_help_lists_the_verbs_and_their_options(tmp_path):
    of_all = here("dedup", "-h", folder=tmp_path)
    of_one, of_a_server = (
        here("dedup", *verb.split(), "-h", folder=tmp_path) for verb in ("templates analyze", "serve")
    )

    assert (of_all.code, of_one.code) == (0, 0)
    assert all(f"  {verb} " in of_all.out for verb in VERBS)
    assert "--threshold-pct" in of_one.out
    assert "--set" in of_one.out
    assert "Show the store as a dashboard and by REST, on this machine" in of_a_server.out


def test_what_a_page_says_is_not_obeyed_by_the_terminal(tmp_path):
    hostile = "\x1b[2J\x1b]0;owned\x07[bold red]x[/]\u202egpj.exe\u2066\u200b\x9b31m"
    shop = Shop(tmp_path)
    with shop.open() as store:
        project = shop.project(store)
        pages = {a_url(name): html_page(name, f"Buy {hostile} now", title=hostile) for name in range(5)}
        put(project, pages)
    calls = [("templates", "analyze"), ("report", "--domains"), ("report",)]
    calls += [("explain", a_url(1)), ("explain", f"{a_url(2)}?{hostile}")]
    for arguments in calls:
        told = shop.run(*arguments)

        assert told.code in (0, 1)
        assert set("\x1b\x07\u202e\u2066\u200b\x9b").isdisjoint(told.out + told.err)
    assert "⟨U+202E⟩gpj.exe" in shop.run("report").out
    assert "[bold red]x[/]" in shop.run("report").out


def test_a_terminal_that_knows_little_does_not_end_a_command(finished_shop):
    told = finished_shop.run("explain", f"{a_url(0)}?é☃", PYTHONIOENCODING="ascii")

    assert (told.code, told.err) == (1, "")
    assert r"\xe9\u2603" in told.out


def test_a_reader_that_has_enough_ends_a_command_quietly(shop, tmp_path):
    shop.run("domains", "add", *(f"{number}.example" for number in range(60)))
    reader, writer = os.pipe()
    # The least there is: it waits at the middle of what it says.
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    call = ["dedup", "domains", "list", "--json", *shop.settings]
    out, err = f"/proc/{os.getpid()}/fd/{writer}", tmp_path / "err"

    run = start_scrapy(call, shop.folder, os.environ, stdout=out, stderr=err)
    assert os.read(reader, 1) == b"{"
    os.close(reader)

    assert run.wait(SECONDS) == 1
    os.close(writer)
    assert err.read_text() == ""


def test_scrapy_itself_loads_next_to_nothing_of_this_package():
    """An import that fails must not break `scrapy version`."""
    code = "import sys, scrapy_dedup.commands.dedup; print([n for n in sys.modules if n.startswith('scrapy_dedup')])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['scrapy_dedup', 'scrapy_dedup.commands', 'scrapy_dedup.commands.dedup']"


@pytest.mark.parametrize(
    ("width", "told"),
    [
        pytest.param(80, "Domain Status Pages a.example discovered 1,200 b.example 3", id="as-a-table"),
        pytest.param(25, "a.example Status: discovered, Pages: 1,200 b.example Pages: 3", id="row-by-row"),
    ],
)
def test_every_cell_is_shown_however_narrow_the_terminal_is(width, told):
    file = StringIO()
    rows = [("a.example", "discovered", 1_200), ("b.example", "", 3)]

    print_table("", "Domain, Status, Pages", rows, texts=2, console=Console(file=file, width=width))

    assert file.getvalue().split() == told.split()


def test_a_table_without_rows_is_its_head(capsys):
    print_table("", "Domain, Pages", [])

    assert capsys.readouterr().out.split() == ["Domain", "Pages"]
