import dataclasses
import json
import urllib.error
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.report.builders import a_recrawl, a_report
from tests.report.hostile import a_hostile_report

FIRST = {"visits": 40, "verdicts": {"new": 40}, "callbacks": 40, "bytes_received": 1_600_000, "seconds": 12.3}
SECOND = {
    "visits": 38,
    "verdicts": {"changed": 5, "unchanged": 30, "new": 2, "removed": 1},
    "callbacks": 8,
    "bytes_received": 400_000,
    "seconds": None,
}
ROWS = {
    "pages new": ["40", "2"],
    "pages changed": ["0", "5"],
    "pages unchanged": ["0", "30"],
    "pages removed": ["0", "1"],
    "pages asked for": ["40", "37"],
    "answered “not modified” (304)": ["0", "21"],
    "bytes received": ["1.6 MB", "400.0 kB"],
    "callbacks run": ["40", "8"],
    "seconds": ["12.3", "0.0"],
}


@pytest.fixture
def demo() -> Any:
    return import_module("demo")


@pytest.fixture
def tables() -> Any:
    return import_module("demo_tables")


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.mark.parametrize("url", ["ftp://example.com/", "https://", "https://[broken"])
def test_url_that_is_none_is_refused_with_an_example(demo: Any, url: str, tmp_path: Path) -> None:
    with pytest.raises(demo.DemoError, match="needs the address of a site"), demo.site(url, tmp_path):
        pass


def test_address_without_scheme_means_https_and_both_crawls_share_the_cap(demo: Any, tmp_path: Path) -> None:
    with demo.site("example.com", tmp_path) as found:
        assert (found.start, found.pages) == ("https://example.com", 100)
        assert found.renew() == "Crawling the same site again."


def test_without_network_the_site_that_ships_here_is_used_and_said_so(
    demo: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = demo.prepare_output(tmp_path / "demo-output")

    with demo.site("", files.cache, lambda _cache: []) as found:
        origin = found.start.removesuffix("/index.html")
        assert origin.startswith("http://127.0.0.1:")
        places = [f"{origin}/{name}.html" for name in ("index", "notices", "journal/ships-biscuit")]
        before = [status(place) for place in places]
        assert "two weeks later" in found.renew()
        assert (before, [status(place) for place in places]) == ([200, 404, 200], [200, 200, 404])
    assert "small site that ships" in capsys.readouterr().out


def test_broken_download_is_no_documentation_and_the_next_demo_tries_again(tmp_path: Path) -> None:
    site = import_module("demo_site")
    archive = tmp_path / f"{site.PACKAGE}-{site.VERSIONS[0]}.tar.gz"
    archive.write_bytes(b"half an archive")

    assert site.documentation(tmp_path, site.VERSIONS[0]) is None
    assert not archive.exists()


def test_each_demo_starts_with_an_empty_store_and_keeps_its_download(demo: Any, tmp_path: Path) -> None:
    files = demo.prepare_output(tmp_path)
    for file in (
        files.store,
        files.feed,
        files.again,
        files.feed_of("delta feed"),
        files.store_of("delta feed"),
        files.cache / "site.tar.gz",
        files.store.with_name("dedup.db-wal"),
    ):
        file.write_bytes(b"old")

    demo.prepare_output(tmp_path)

    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["site.tar.gz"]


@pytest.mark.parametrize("made", [a_report, a_hostile_report])
def test_figures_are_shown_and_nothing_of_a_page_reaches_the_terminal(
    tables: Any, made: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    # What the tables do not show is left out: a hostile report's layouts are hundreds of megabytes of JSON.
    report = dataclasses.replace(made(), layouts=(), alarms=(), shadowed=())
    figures = json.loads(json.dumps(dataclasses.asdict(report), default=str))

    tables.console.print(tables.first_crawl(figures))

    printed = capsys.readouterr().out
    assert "42 pages in, 41.0% of their text removed" in printed
    assert not {"\x1b", "\x00", "\u202e"} & set(printed)


def printed_of(tables: Any, capsys: pytest.CaptureFixture[str], **other: Any) -> str:
    recrawl = json.loads(json.dumps(dataclasses.asdict(a_recrawl(**other)), default=str))
    tables.console.print(tables.second_crawl([SECOND, FIRST], recrawl))
    return capsys.readouterr().out


def test_both_crawls_stand_side_by_side(tables: Any, capsys: pytest.CaptureFixture[str]) -> None:
    printed = printed_of(tables, capsys)

    assert "Second crawl: 2 new, 5 changed, 30 unchanged, 1 removed" in printed
    assert "1.2 MB not sent again" in printed
    for name, figures in ROWS.items():
        (line,) = [line for line in printed.splitlines() if line.startswith(f"{name}  ")]
        assert [part.strip() for part in line.removeprefix(name).split("  ") if part.strip()] == figures
    assert "No page was answered" not in printed


def test_why_no_bytes_were_saved_is_told(tables: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No page was answered with “not modified”" in printed_of(tables, capsys, not_modified=0, bytes_saved=0)


def test_second_crawl_of_other_pages_is_told(tables: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tables.console.print(tables.second_crawl([SECOND, FIRST], None))

    assert "met no page of the first one" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (36_300_000, "36.3 MB"), (2_000_000_000, "2,000.0 MB")],
)
def test_sizes(tables: Any, number: int, text: str) -> None:
    assert tables.size(number) == text
