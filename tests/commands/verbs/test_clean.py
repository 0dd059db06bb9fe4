"""`scrapy dedup clean` as a user calls it."""

import gzip
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import Outcome, Shop, at_a_terminal, here, scrapy
from tests.server import Answer, redirect, serving
from tests.service.files.test_run import SITE, a_page, a_row, as_lines
from tests.service.warc_files import an_answer
from tests.sites import html_page
from tests.tables import table
from tests.waiting import wait_for
from tests.warm import WarmProcess, start_scrapy

KEYS = {"url", "cleaned_content", "title", "date", "author", "dedup"}


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with eight pages of one site."""
    (tmp_path / "in.jsonl").write_bytes(as_lines([a_row(number) for number in range(8)]))
    return tmp_path


def clean(folder: Path, *arguments: str) -> Outcome:
    return scrapy("dedup", "clean", *arguments, folder=folder)


def rows_of(raw: str | bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in raw.splitlines()]


def written(folder: Path, name: str = "out.jsonl") -> list[dict[str, Any]]:
    return rows_of((folder / name).read_bytes())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_pages_come_out_clean_in_their_order(folder):
    told = clean(folder, "in.jsonl", "-O", "out.jsonl")

    rows = written(folder)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("8 pages cleaned (8 by template); 1 domain: 1 learned.\n")
    assert [row["url"] for row in rows] == [f"{SITE}{number}" for number in range(8)]
    assert all(row.keys() == KEYS for row in rows)
    assert all(f"Tea number {number} grows" in row["cleaned_content"] for number, row in enumerate(rows))
    assert not any(word in row["cleaned_content"] for row in rows for word in ("Home Products", "Imprint"))
    assert [row["title"] for row in rows] == [f"Tea {number}" for number in range(8)]
    assert names(folder) == ["in.jsonl", "out.jsonl"]


def test_every_kind_of_input_and_standard_output(folder):
    site = folder / "site"
    site.mkdir()
    (site / "manifest.jsonl").write_text(f'{{"url": "{SITE}folder", "file": "a.html"}}\n')
    (site / "a.html").write_text(a_page(91))
    (folder / "a.warc.gz").write_bytes(gzip.compress(an_answer(f"{SITE}warc", a_page(92).encode())))

    told = clean(folder, "site", "in.jsonl", "a.warc.gz", "-O", "-")

    assert [row["url"] for row in rows_of(told.out)] == [
        f"{SITE}folder", *(f"{SITE}{number}" for number in range(8)), f"{SITE}warc"
    ]  # fmt: skip
    assert told.err.startswith("10 pages cleaned (10 by template); 1 domain: 1 learned.\n")


def test_settings_count(folder):
    (folder / "in.jsonl").write_bytes(as_lines([{"link": SITE, "html": "<h1>Tea"}]))

    clean(folder, "in.jsonl", "-O", "out.jsonl", "-s", "DEDUP_URL_FIELD=link", "-s", "DEDUP_OUTPUT=text")

    assert written(folder)[0]["cleaned_content"].strip() == "Tea"


def test_bad_records_are_told_with_their_place(folder):
    (folder / "in.jsonl").write_bytes(as_lines([a_row(1), b"\x1b[2J", a_row(2)]))

    told = clean(folder, "in.jsonl", "-O", "out.jsonl", "--json")

    assert told.code == 0
    assert told.err.startswith("scrapy dedup: passed over: in.jsonl, line 2: no JSON")
    assert "\x1b" not in told.err
    assert (told.json["pages"], told.json["bad"], told.json["no_page"]) == (2, 1, 0)
    assert told.json["domains"][0]["status"] == "small"


class TestExit:
    def test_is_1_where_no_page_came_out(self, folder):
        (folder / "in.jsonl").write_text("{")

        told = clean(folder, "in.jsonl", "-O", "out.jsonl")

        assert (told.code, written(folder)) == (1, [])
        assert told.out == "0 pages cleaned; 1 bad record passed over; 0 domains: none.\n"

    def test_is_1_where_a_strict_call_met_a_bad_record(self, folder):
        (folder / "in.jsonl").write_bytes(as_lines([a_row(1), b"{"]))

        told = clean(folder, "in.jsonl", "-O", "out.jsonl", "--strict")

        assert told.code == 1
        assert told.err.startswith("scrapy dedup: in.jsonl, line 2: no JSON")
        assert names(folder) == ["in.jsonl"]

    @pytest.mark.parametrize("name", ["linked", "same", "in"])
    def test_is_2_where_out_would_take_the_place_of_an_input(self, folder, name):
        given = (folder / "in.jsonl").rename(folder / "in.part")
        (folder / "linked").symlink_to(given)
        (folder / "same").hardlink_to(given)

        assert here("dedup", "clean", "in.part", "-O", name, folder=folder).code == 2
        assert len(given.read_bytes().splitlines()) == 8

    def test_is_2_where_out_is_a_page_of_a_folder(self, folder):
        (folder / "about").write_text("<!doctype html><p>Tea")

        assert here("dedup", "clean", ".", "-O", "about", folder=folder).code == 2
        assert (folder / "about").read_text() == "<!doctype html><p>Tea"

    @table("wrong_calls/clean")
    def test_wrong_calls_say_so_in_a_line(self, folder, arguments, code, says):
        told = here("dedup", "clean", *arguments, folder=folder)

        assert told.code == code
        assert says in told.err
        assert told.err.count("\n") == 1
        assert names(folder) == ["in.jsonl"]


def test_a_dry_run_tells_what_would_be_learned_and_writes_nothing(folder):
    told = clean(folder, "in.jsonl", "--dry-run")
    as_json = clean(folder, "in.jsonl", "--dry-run", "--json").json

    assert told.code == 0
    assert told.out.splitlines()[0] == "8 different pages of 1 domain; 1 learned."
    assert "Dry run: nothing was written." in told.out
    assert [(one["domain"], one["pages"], one["sampled"]) for one in as_json["domains"]] == [("shop.example", 8, 8)]
    assert names(folder) == ["in.jsonl"]


class TestStore:
    def test_remembers_when_it_is_told_to(self, folder):
        shop = Shop(folder)
        (folder / "few.jsonl").write_bytes(as_lines([a_row(99)]))

        first = shop.run("clean", "in.jsonl", "-O", "out.jsonl", "--remember", "--json")
        second = shop.run("clean", "few.jsonl", "-O", "few.out", "--json")

        assert first.json["domains"][0]["status"] == "learned"
        assert (first.json["remembered"]["domains"], second.json["remembered"]) == (1, None)
        assert second.json["domains"][0]["status"] == "known"
        assert "Home Products" not in written(folder, "few.out")[0]["cleaned_content"]

    @pytest.mark.parametrize("options", [["-O", "out.jsonl"], ["--dry-run", "--remember"]], ids=["clean", "dry-run"])
    def test_is_only_read_otherwise(self, folder, options):
        shop = Shop(folder)
        shop.open().close()
        before = shop.file.read_bytes()

        assert shop.run("clean", "in.jsonl", *options).code == 0

        assert shop.file.read_bytes() == before

    def test_is_named_where_it_was_made_for_what_was_learned(self, folder):
        told = clean(folder, "in.jsonl", "-O", "out.jsonl", "--remember")

        store = folder / ".scrapy" / "dedup.db"
        assert f"Remembered: what was learned of 1 domain, in {store}, project scrapybot.\n" in told.out


def test_a_terminal_shows_a_bar_and_nothing_else_does(folder):
    shown = at_a_terminal("dedup", "clean", "in.jsonl", "-O", "out.jsonl", folder=folder).out

    assert "cleaning" in shown
    assert "8 pages cleaned" in shown


def begun(folder: Path, *arguments: str, pages: int) -> WarmProcess:
    """Start a call that takes a while, and wait until it writes."""
    (folder / "many.jsonl").write_bytes(as_lines([a_row(number) for number in range(pages)]))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    told = folder / "told"
    call = ["dedup", "clean", "many.jsonl", "-O", "out.jsonl", *arguments]
    run = start_scrapy(call, folder, environment, stdout=told, stderr=told)
    part = folder / "out.jsonl.part"
    wait_for(lambda: (part.exists() and part.stat().st_size > 0) or run.poll() is not None)
    assert run.poll() is None
    return run


def test_killed_and_run_again_it_gives_the_same_file_whatever_the_jobs(folder):
    for jobs in ("1", "2"):
        killed = begun(folder, "--jobs", jobs, pages=200)
        killed.kill()
        killed.wait()
        assert not (folder / "out.jsonl").exists()
        assert (folder / "out.jsonl.part").exists()

        clean(folder, "many.jsonl", "-O", "out.jsonl", "--jobs", jobs)
        assert not (folder / "out.jsonl.part").exists()
        (folder / "out.jsonl").rename(folder / f"jobs-{jobs}.jsonl")
    clean(folder, "many.jsonl", "-O", "undisturbed.jsonl")

    undisturbed = (folder / "undisturbed.jsonl").read_bytes()
    assert [(folder / f"jobs-{jobs}.jsonl").read_bytes() == undisturbed for jobs in ("1", "2")] == [True, True]


def test_a_second_run_at_once_is_refused_and_an_interrupt_leaves_nothing(folder):
    # It goes on for longer than the second one takes to start.
    first = begun(folder, pages=5_000)
    second = clean(folder, "in.jsonl", "-O", "out.jsonl")
    first.send_signal(signal.SIGINT)
    code = first.wait(60)
    told = (folder / "told").read_text()

    assert (second.code, second.err.count("\n")) == (1, 1)
    assert "another process is writing it just now" in second.err
    assert (code, told.count("\n")) == (130, 1)
    assert names(folder) == ["in.jsonl", "many.jsonl", "told"]


HOSTILE = {
    "nested": "<div>" * 20_000 + "tea" + "</div>" * 20_000,
    "nested-inline": "<b>" * 20_000 + "tea",
    "one-text": "<p>" + "tea " * 2_001_000,
    "empty-divs": "<p>tea</p>" + "<div></div>" * 100_000,
    "forms-and-tables": "<form><table><tr><td>tea" * 20_000,
    "attributes": "<p " + "a " * 20_000 + ">tea",
    "nothing": "",
    "nul": "\0<p>tea\0",
    "json-ld": '<script type="application/ld+json">' + "[" * 100_000 + "</script><p>tea",
    "surrogates": "<p>tea \ud800\udfff",
}


def test_hostile_pages_come_out_among_the_others_from_one_process_and_back_to_another(folder):
    rows: list[Any] = [a_row(number) for number in range(8)]
    rows += [{"url": f"{SITE}{name}", "html": html} for name, html in HOSTILE.items()]
    invalid = b'{"url": "' + SITE.encode() + b'invalid", "body": "PHA+dGVhIP/+gOn//3A="}'
    (folder / "in.jsonl").write_bytes(as_lines([*rows, invalid, a_row(9)]))

    told = clean(folder, "in.jsonl", "-O", "out.jsonl", "--json", "--jobs", "2")

    out = {row["url"].removeprefix(SITE): row for row in written(folder)}
    assert (told.code, told.json["bad"]) == (0, 0)
    assert list(out) == [*map(str, range(8)), *HOSTILE, "invalid", "9"]
    assert all(
        "tea" in row["cleaned_content"] for name, row in out.items() if name in {*HOSTILE, "invalid"} - {"nothing"}
    )
    assert {name for name, row in out.items() if row["dedup"].get("flag")} >= {"nested", "one-text", "empty-divs"}
    assert "Tea number 9 grows" in out["9"]["cleaned_content"]


def test_pages_of_the_web_and_of_a_folder_come_out_in_the_order_of_the_call(folder):
    saved = folder / "saved"
    saved.mkdir()
    (saved / "a.html").write_text(html_page("saved"), encoding="utf-8")
    site = {"/old": redirect("/new"), "/new": Answer(html_page("fetched"))}
    with serving(1, lambda origins: {origins[0] + path: answer for path, answer in site.items()}) as server:
        here = server.origins[0]
        told = scrapy("dedup", "clean", "saved", f"{here}/old", "saved/a.html", "-O", "-", folder=folder)
        gone = scrapy("dedup", "clean", f"{here}/none", "-O", "-", folder=folder)

    assert [json.loads(line)["url"] for line in told.out.splitlines()] == ["http://localhost/a.html", f"{here}/new"]
    assert (gone.code, gone.out) == (1, "")
    assert "the server answered with 404" in gone.err


def test_a_page_that_cannot_be_fetched_is_told_in_one_line(folder):
    # A port that is bound, and at which nobody listens, refuses.
    with socket.socket() as bound, serving(1, lambda _: {}) as server:
        bound.bind(("127.0.0.1", 0))
        here = server.origins[0].removeprefix("http://")
        urls = [f"http://127.0.0.1:{bound.getsockname()[1]}/", f"https://{here}/", "http://no-such-name.invalid/"]
        ended = {url: clean(folder, url, "-O", "out.jsonl", "-s", "RETRY_TIMES=1") for url in [*urls, "http://a b/"]}

    for url, told in ended.items():
        assert told.code == 1
        assert told.err.startswith(f"scrapy dedup: {url} cannot be fetched (")
        assert told.err.count("\n") == 1
    assert names(folder) == ["in.jsonl"]
