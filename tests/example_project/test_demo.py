import urllib.error
import urllib.request
from importlib import import_module
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.report.builders import a_report
from tests.report.hostile import a_hostile_report


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
def test_url_that_is_none_is_refused_with_an_example(demo, url, tmp_path):
    with pytest.raises(demo.DemoError, match="needs the address of a site"), demo.site(url, tmp_path):
        pass


def test_address_without_scheme_means_https_and_both_crawls_share_the_cap(demo, tmp_path):
    with demo.site("example.com", tmp_path) as found:
        assert (found.start, found.pages) == ("https://example.com", 100)
        assert found.renew() == "Crawling the same site again."


def test_without_network_the_site_that_ships_here_is_used_and_said_so(demo, tmp_path, capsys):
    files = demo.prepare_output(tmp_path / "demo-output")

    with demo.site("", files.cache, lambda _cache: []) as found:
        origin = found.start.removesuffix("/index.html")
        assert origin.startswith("http://127.0.0.1:")
        places = [f"{origin}/{name}.html" for name in ("index", "notices", "journal/ships-biscuit")]
        before = [status(place) for place in places]
        assert "two weeks later" in found.renew()
        assert (before, [status(place) for place in places]) == ([200, 404, 200], [200, 200, 404])
    assert "small site that ships" in capsys.readouterr().out


def test_each_demo_starts_with_an_empty_store_and_keeps_its_download(demo, tmp_path):
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
def test_figures_are_shown_and_nothing_of_a_page_reaches_the_terminal(tables, made, capsys):
    # What the tables do not show is left out: a hostile report's layouts are hundreds of megabytes of JSON.
    report = replace(made(), layouts=(), alarms=(), shadowed=())
    figures = to_builtins(report)

    tables.console.print(tables.first_crawl(figures))

    printed = capsys.readouterr().out
    assert "42 pages in, 41.0% of their text removed" in printed
    assert not {"\x1b", "\x00", "\u202e"} & set(printed)
