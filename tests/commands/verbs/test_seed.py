import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.seeding_deltafetch import keys_of
from scrapy_dedup.service.seeding_pages import FoundPage
from tests.commands.running import Outcome, Shop, at_a_terminal, scrapy
from tests.service.stored_pages import NOON, a_url, html_page

HOSTILE = '{"url": "\\u001b[2Jx\\u202e"}'
FIGURES = ("read", "seeded", "joined", "known", "no_page", "unreadable", "comparable", "items_left")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder without a store, with two items, one of them whole, and a bad line."""
    rows = [{"url": a_url("a"), "html": html_page("a"), "price": 1}, {"url": a_url("b"), "price": 2}]
    lines = [*map(json.dumps, rows), HOSTILE]
    (tmp_path / "items.jl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def seed(folder: Path, *arguments: str) -> Outcome:
    return scrapy("dedup", "seed", *arguments, "-s", "DEDUP_PROJECT=shop", folder=folder)


def figures(told: Outcome) -> dict[str, int]:
    return {name: told.json[name] for name in FIGURES if told.json[name]}


def known(folder: Path, *names: str) -> list[str]:
    with Shop(folder).open() as store:
        project = store.find_project("shop")
        states = project.page_states([page_key(a_url(name)) for name in names]) if project else {}
    return [name for name in names if page_key(a_url(name)) in states]


def begun(file: Path) -> bool:
    """Say whether a store has pages, without asking for its lock, which may take until they are all there."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
            return bool(store.execute("SELECT count(*) FROM documents").fetchone()[0])
    except sqlite3.OperationalError:
        return False


def a_cache(folder: Path, *names: str) -> Path:
    for name in names:
        entry = folder / "httpcache" / "site" / name / (40 * name)
        entry.mkdir(parents=True)
        meta = {"url": a_url(name), "method": "GET", "status": 200, "timestamp": NOON.timestamp()}
        (entry / "meta").write_text(repr(meta))
        (entry / "response_headers").write_text("Content-Type: text/html")
        (entry / "response_body").write_text(html_page(name))
    return folder / "httpcache"


def a_database(folder: Path, *names: str, own: int = 0) -> Path:
    path = folder / "site.db"
    keys = [keys_of(FoundPage("", a_url(name), NOON))[0] for name in names] + [b"own %d" % n for n in range(own)]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
        connection.executemany("INSERT INTO Dict VALUES (?, ?)", [(key, b"1700000000.5") for key in keys])
        connection.commit()
    return path


def test_the_first_week_begins_without_a_store(folder: Path) -> None:
    told = seed(folder, "items.jl", "--json")

    examples = told.json["examples"]
    assert (told.code, told.err) == (0, "")
    assert figures(told) == {"read": 3, "seeded": 2, "unreadable": 1, "comparable": 1}
    assert [example["where"] for example in examples] == ["items.jl, line 3"]
    assert told.json.keys() == {"project", "dry_run", "interrupted", "deltafetch", "examples", *FIGURES}
    assert known(folder, "a", "b", "c") == ["a", "b"]


def test_a_person_reads_what_became_of_it(folder: Path) -> None:
    out = seed(folder, "items.jl").out

    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines == [
        "Seeding of project shop",
        "3 read",
        "2 seeded, 1 of them with HTML to compare",
        "0 already known",
        "1 unreadable",
        "items.jl, line 3: '\\x1b[2Jx\\u202e' is no URL of a page: needs http:// or https:// and a host",
    ]


def test_the_same_file_again_changes_nothing(folder: Path) -> None:
    seed(folder, "items.jl")

    assert figures(seed(folder, "items.jl", "--json")) == {"read": 3, "known": 2, "unreadable": 1}


class TestDryRun:
    def test_without_a_store_it_creates_none(self, folder: Path) -> None:
        told = seed(folder, "items.jl", "--dry-run", "--json")

        assert (told.code, told.json["dry_run"]) == (0, True)
        assert figures(told) == {"read": 3, "seeded": 2, "unreadable": 1, "comparable": 1}
        assert not (folder / ".scrapy" / "dedup.db").exists()

    def test_with_one_it_writes_nothing(self, folder: Path) -> None:
        (folder / "first.txt").write_text(a_url("b"))
        seed(folder, "first.txt")

        told = seed(folder, "items.jl", "--dry-run")

        assert "would be seeded" in told.out
        assert told.out.splitlines()[-1] == "Dry run: nothing was written."
        assert known(folder, "a", "b") == ["b"]

    def test_a_project_that_is_new_is_not_added(self, folder: Path) -> None:
        Shop(folder).open().close()

        assert figures(seed(folder, "items.jl", "--dry-run", "--json"))["seeded"] == 2
        with Shop(folder).open() as store:
            assert store.find_project("shop") is None


class TestFormats:
    def test_every_kind_of_file_is_recognised(self, folder: Path) -> None:
        a_cache(folder, "c")
        a_database(folder, "d")
        (folder / "urls.txt").write_text(a_url("d"))
        (folder / "items.jl.gz").write_bytes(gzip.compress((folder / "items.jl").read_bytes()))

        told = seed(folder, "site.db", "items.jl.gz", "httpcache", "--urls", "urls.txt", "--json")

        assert figures(told) == {"read": 5, "seeded": 4, "unreadable": 1, "comparable": 2}
        assert known(folder, "a", "b", "c", "d") == ["a", "b", "c", "d"]

    def test_a_cache_is_read_before_the_items_that_were_made_of_it(self, folder: Path) -> None:
        a_cache(folder, "a", "b")

        told = seed(folder, "items.jl", "httpcache", "--json")

        assert figures(told) == {"read": 5, "seeded": 2, "joined": 2, "unreadable": 1, "comparable": 2}

    def test_fields_may_have_other_names(self, folder: Path) -> None:
        row = {"link": a_url("x"), "page": html_page("x"), "text": "x", "when": "2026-02-01T00:00:00Z"}
        (folder / "other.jl").write_text(json.dumps(row))
        names = ["--url-field", "link", "--html-field", "page", "--content-field", "text", "--time-field", "when"]

        assert figures(seed(folder, "other.jl", "--json", *names)) == {"read": 1, "seeded": 1, "comparable": 1}
        with Shop(folder).open() as store:
            (state,) = Shop(folder).project(store).page_states([page_key(a_url("x"))]).values()
        assert state.last_seen_at.isoformat() == "2026-02-01T00:00:00+00:00"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            pytest.param(["missing.jl"], "missing.jl: there is no such file", id="missing"),
            pytest.param(["items.jl", "missing.jl"], "missing.jl: there is no such file", id="one-of-two"),
            pytest.param(["empty"], "is no HTTP cache of Scrapy in files", id="empty-folder"),
            pytest.param(
                ["dbs"], "if it is a database of deltafetch, name the file: dbs/site.db", id="folder-of-deltafetch"
            ),
            pytest.param(["site.db"], "not URLs; give the URLs by --urls FILE", id="fingerprints"),
            pytest.param(["site.db", "--urls", "no.txt"], "no.txt: is no file; --urls", id="no-urls"),
            pytest.param(["items.jl", "--format", "deltafetch"], "is no database of deltafetch", id="not-deltafetch"),
            pytest.param(["items.jl", "--format", "httpcache"], "is no HTTP cache", id="not-a-cache"),
            pytest.param(["empty", "--format", "jsonl"], "is no file of JSON lines", id="not-lines"),
            pytest.param(["pipe"], "there is no such file", id="pipe"),
            pytest.param(["dbm.db", "--urls", "items.jl"], "whose pages are pickles", id="dbm-cache"),
        ],
    )
    def test_what_cannot_be_read_is_told_in_one_line(self, folder: Path, arguments: list[str], message: str) -> None:
        (folder / "empty").mkdir()
        (folder / "dbs").mkdir()
        a_database(folder / "dbs", "a")
        os.mkfifo(folder / "pipe")
        with closing(sqlite3.connect(folder / "dbm.db")) as connection:
            connection.execute("CREATE TABLE Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
            connection.execute("INSERT INTO Dict VALUES (?, ?)", (b"ab" * 20 + b"_data", b"cos\nsystem\n(S'x'\ntR."))
            connection.commit()
        a_database(folder, "a")

        told = seed(folder, *arguments)

        assert (told.code, told.out) == (1, "")
        assert message in told.err
        assert told.err.count("\n") == 1

    def test_a_wrong_file_is_told_before_anything_is_written(self, folder: Path) -> None:
        seed(folder, "items.jl", "missing.jl")

        assert not (folder / ".scrapy" / "dedup.db").exists()

    def test_a_file_of_nothing_but_rubbish_is_a_failure(self, folder: Path) -> None:
        (folder / "rubbish").write_bytes(os.urandom(5_000).replace(b"\x1f\x8b", b"xx") + b"\n")

        told = seed(folder, "rubbish", "--json")

        assert told.code == 1
        assert told.json["read"] == told.json["unreadable"] > 0
        assert len(told.json["examples"]) <= 5

    def test_an_empty_file_is_none(self, folder: Path) -> None:
        (folder / "empty.jl").touch()

        assert seed(folder, "empty.jl").code == 0


class TestDeltafetch:
    def test_it_says_how_many_keys_found_their_url_and_what_of_the_others(self, folder: Path) -> None:
        a_database(folder, "a", "b", "c", own=2)
        (folder / "urls.txt").write_text("\n".join(map(a_url, ["a", "b", "x"])))

        told, shown = (seed(folder, "site.db", "--urls", "urls.txt", *more) for more in (["--json", "--dry-run"], []))

        assert figures(told) == {"read": 2, "seeded": 2}
        assert told.json["deltafetch"] == [
            {"file": "site.db", "keys": 5, "matched": 2, "own_keys": 2, "unknown_urls": 1}
        ]
        assert "site.db: a URL was found for 2 of 5 keys." in shown.out
        assert "The pages of the others count as new when they are crawled." in shown.out
        assert "2 keys came from the spider's deltafetch_key, not from a URL" in shown.out
        assert "1 URL of --urls is not in the database, and not seeded." in shown.out
        assert known(folder, "a", "b", "c", "x") == ["a", "b"]

    def test_keys_of_the_spiders_own_are_found_by_a_field(self, folder: Path) -> None:
        a_database(folder, own=2)
        (folder / "old.jl").write_text(json.dumps({"url": a_url("a"), "id": "own 1"}))

        told = seed(folder, "site.db", "--urls", "old.jl", "--key-field", "id", "--json")

        assert figures(told) == {"read": 1, "seeded": 1}
        assert known(folder, "a") == ["a"]


def test_at_a_terminal_a_bar_shows_the_progress(folder: Path) -> None:
    told = at_a_terminal("dedup", "seed", "items.jl", "-s", "DEDUP_PROJECT=shop", folder=folder)

    assert told.code == 0
    assert "━" in told.out
    assert "seeded, 1 of them with HTML to compare" in told.out


def test_an_interruption_keeps_what_was_seeded_and_goes_on_the_next_time(folder: Path) -> None:
    rows: list[dict[str, Any]] = [{"url": a_url(number), "html": html_page(number)} for number in range(20_000)]
    (folder / "many.jl").write_text("\n".join(map(json.dumps, rows)))
    # Where these tests run in the background, processes are born with the signal ignored.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    scrapy = f"{listening}; from scrapy.cmdline import execute; execute()"
    command = [sys.executable, "-c", scrapy, "dedup", "seed", "many.jl", "--json", "-s", "DEDUP_PROJECT=shop"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while not begun(Shop(folder).file):
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)

    told = json.loads(out)
    assert (running.returncode, told["interrupted"], err) == (130, True, b"")
    assert 0 < told["seeded"] < 20_000
    again = seed(folder, "many.jl", "--json").json
    assert (again["read"], again["unreadable"]) == (20_000, 0)
    assert again["known"] >= told["seeded"] - 200
