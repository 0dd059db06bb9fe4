from datetime import timedelta
from typing import Any

import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.records.records import DecisionRecord, DocumentRecord, VisitRecord
from scrapy_dedup.store.writer import ProjectStore
from tests.commands.running import at_a_terminal
from tests.service.stored_pages import DOMAIN, NOON, a_url
from tests.tables import table

HOUR = timedelta(hours=1)
HOSTILE = "https://www.example.com/\x1b[2J\u202e"
FIRST, SECOND = NOON + HOUR, NOON + 25 * HOUR


def visit(project: ProjectStore, name: object, verdict: Any, hours: float, **fields: Any) -> None:
    at, key = NOON + hours * HOUR, page_key(a_url(name))
    url = fields.pop("url", a_url(name))
    reason = fields.pop("reason", "seen for the first time")
    project.write([DocumentRecord(key, url, DOMAIN, "completed", at)])
    project.write([VisitRecord(key, at, "get", verdict, reason, http_status=200, **fields)])


@pytest.fixture
def runs(shop) -> tuple[str, str]:
    """Two runs: the first found three pages, the second one new, two changed, one removed."""
    with shop.open() as store:
        project = shop.project(store)
        first = project.begin_run(spider="site", jobdir=None, started_at=FIRST)
        for name in "abc":
            visit(project, name, "new", 1.5)
        second = project.begin_run(spider="site", jobdir=None, started_at=SECOND)
        visit(project, "a", "changed", 26, change_class="numbers", reason="main text differs: '\x1b[1m3' became '4'")
        visit(project, "b", "removed", 27, reason="404")
        visit(project, "c", "changed", 28, change_class="content", reason="main text differs", url=HOSTILE)
        visit(project, "d", "new", 29)
        detail = {"diff": "--- old\n+++ new\n-Tea costs \x1b[31m3\u202e euros\n+    Tea costs 4 euros"}
        project.write([DecisionRecord(page_key(a_url("a")), "unchanged", "changed", "differs", NOON, detail)])
    return str(first.id), str(second.id)


@pytest.mark.usefixtures("runs")
class TestForPeople:
    def test_the_last_run_is_told_by_verdict(self, shop):
        out = shop.run("changes").out

        lines = [line.strip() for line in out.splitlines()]
        assert [line for line in lines if line.endswith(")")] == ["New (1)", "Changed (2)", "Removed (1)"]
        assert f"2026-03-02 14:00  {a_url('a')}" in lines
        assert "numbers: main text differs: '⟨U+001B⟩[1m3' became '4'" in lines
        assert lines[-1] == "1 new, 2 changed, 1 removed"
        assert "began, 2026-03-02 13:00 UTC" in lines[0]

    def test_nothing_that_a_page_says_acts_on_the_terminal(self, shop):
        out = at_a_terminal(*["dedup", "changes", "--diff", *shop.settings], folder=shop.folder).out

        assert "\u202e" not in out
        assert "\x1b[2J" not in out
        assert "\x1b[1m3" not in out
        assert "Tea costs ⟨U+001B⟩[31m3⟨U+202E⟩ euros" in out

    def test_a_diff_keeps_its_lines_and_their_indentation(self, shop):
        lines = shop.run("changes", "--diff").out.splitlines()

        place = next(number for number, line in enumerate(lines) if "-Tea costs" in line)
        assert lines[place + 1].strip() == "+    Tea costs 4 euros"

    def test_a_change_without_a_diff_says_how_to_have_one(self, shop):
        assert "no diff: the version before is not kept; DEDUP_KEEP_PAGES = 2" in shop.run("changes", "--diff").out

    def test_nothing_is_said_to_be_nothing(self, shop):
        told = shop.run("changes", "--since", "2030-01-01")

        assert (told.code, told.out.splitlines()[-1]) == (0, "No page was found new, changed or removed.")


def test_json_is_as_documented(shop, runs):
    found = shop.run("changes", "--json", "--diff").json

    changes = found.pop("changes")
    assert found == {
        "project": "shop",
        "since": {"at": SECOND.isoformat(), "run": runs[1]},
        "counts": {"new": 1, "changed": 2, "removed": 1},
        "next": None,
    }
    assert [(each["verdict"], each["url"]) for each in changes] == [
        ("new", a_url("d")),
        ("changed", a_url("a")),
        ("changed", HOSTILE),
        ("removed", a_url("b")),
    ]
    diff = changes[1].pop("diff")
    assert diff.startswith("--- old")
    assert changes[1] == {
        "verdict": "changed",
        "change_class": "numbers",
        "reason": "main text differs: '\x1b[1m3' became '4'",
        "url": a_url("a"),
        "domain": DOMAIN,
        "page_key": page_key(a_url("a")).hex(),
        "at": (NOON + 26 * HOUR).isoformat(),
        "run": runs[1],
        "http_status": 200,
        "no_diff": None,
    }


@table("commands/chosen_changes")
def test_options_say_which(shop, runs, options, counts):
    found = shop.run("changes", "--json", *(option.format(first=runs[0][:8]) for option in options)).json

    assert list(found["counts"].values()) == counts
    assert len(found["changes"]) == sum(counts)
    assert all(change["diff"] is None for change in found["changes"])
