import dataclasses
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.report.builders import a_report
from tests.report.hostile import a_hostile_report


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    module = import_module("demo")
    monkeypatch.setattr(module, "OUTPUT", tmp_path / "demo-output")
    return module


@pytest.mark.parametrize("url", ["ftp://example.com/", "https://", "https://[broken"])
def test_url_that_is_none_is_refused_with_an_example(demo: Any, url: str) -> None:
    with pytest.raises(demo.DemoError, match="needs the address of a site"), demo.site(url):
        pass


def test_address_without_scheme_means_https(demo: Any) -> None:
    with demo.site("example.com") as (start, pages):
        assert (start, pages) == ("https://example.com", 200)


def test_without_network_the_site_that_ships_here_is_used_and_said_so(
    demo: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "documentation", lambda _cache: None)
    demo.prepare_output()

    with demo.site("") as (start, _):
        assert start.startswith("http://127.0.0.1:")
    assert "small site that ships" in capsys.readouterr().out


def test_broken_download_is_no_documentation_and_the_next_demo_tries_again(tmp_path: Path) -> None:
    site = import_module("demo_site")
    archive = tmp_path / f"{site.PACKAGE}-{site.VERSION}.tar.gz"
    archive.write_bytes(b"half an archive")

    assert site.documentation(tmp_path) is None
    assert not archive.exists()


def test_each_demo_starts_with_an_empty_store_and_keeps_its_download(demo: Any) -> None:
    files = demo.prepare_output()
    for file in (files.store, files.feed, files.cache / "site.tar.gz", files.store.with_name("dedup.db-wal")):
        file.write_bytes(b"old")

    demo.prepare_output()

    assert [file.name for file in demo.OUTPUT.rglob("*") if file.is_file()] == ["site.tar.gz"]


@pytest.mark.parametrize("made", [a_report, a_hostile_report])
def test_figures_are_shown_and_nothing_of_a_page_reaches_the_terminal(
    demo: Any, made: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = json.loads(json.dumps(dataclasses.asdict(made()), default=str))

    demo.show(figures, demo.prepare_output(), 12.0)

    printed = capsys.readouterr().out
    assert "42 pages in, 41.0% of their text removed" in printed
    assert "pages.jsonl" in printed
    assert "report.html" in printed
    assert not {"\x1b", "\x00", "\u202e"} & set(printed)
