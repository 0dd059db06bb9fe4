"""What the README shows is run here as it stands there."""

import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.commands.running import scrapy
from tests.server import Answer, Site, serving
from tests.sites import html_page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = 9
TRIED_ELSEWHERE = ("analyze-layout", "doctor", "learn", "mcp", "serve")
"""Verbs that start a browser, or do not end by themselves; each has tests of its own."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def a_site(origins: list[str]) -> Site:
    urls = [f"{origins[0]}/", *(f"{origins[0]}/p{n}?utm_source=menu" for n in range(1, PAGES))]
    # None leads home: Scrapy does not filter start requests, so that such a link brings the page once more.
    return {url: Answer(html_page(url, links=urls[1:])) for url in urls}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Scrapy project made of the README's blocks."""
    settings, spider, *_ = blocks("python")
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (tmp_path / "settings.py").write_text(settings + 'SPIDER_MODULES = ["spiders"]\nBOT_NAME = "example"\n')
    (tmp_path / "spiders.py").write_text(spider)
    return tmp_path


def run(project: Path, *command: str) -> str:
    done = scrapy(*command, folder=project)
    assert done.code == 0, done.err
    return done.out


def first_crawl(project: Path, origin: str) -> list[dict[str, object]]:
    spiders = project / "spiders.py"
    spiders.write_text(spiders.read_text().replace("https://example.com/", f"{origin}/"))
    run(project, "crawl", "site", "-O", "pages.jsonl")
    return [json.loads(line) for line in (project / "pages.jsonl").read_text().splitlines()]


@pytest.mark.crawl
def test_the_one_line_cleans_the_spider_that_is_shown_and_gives_the_keys_that_are_shown(project: Path) -> None:
    shown = json.loads(blocks("json")[0])

    with serving(1, a_site) as server:
        items = first_crawl(project, server.origins[0])

    assert len(items) == PAGES
    assert all("rights reserved" not in str(item["cleaned_content"]) for item in items)
    report = items[0]["dedup"]
    assert isinstance(report, dict)
    assert shown.keys() <= items[0].keys()
    assert shown["dedup"].keys() <= report.keys()
    assert report["removed"][0].keys() == shown["dedup"]["removed"][0].keys()


@pytest.mark.crawl
def test_the_second_crawl_asks_no_model_and_gives_every_page(project: Path) -> None:
    settings, pipeline = next((one, other) for one, other in pairwise(blocks("python")) if '"replay"' in one)
    asked = project / "asked.txt"
    (project / "pipelines.py").write_text(
        pipeline.replace("        ...\n", f"        open({str(asked)!r}, 'a').write('.')\n")
    )
    more = 'SPIDER_MODULES = ["spiders"]\nITEM_PIPELINES = {"pipelines.LanguageModelPipeline": 400}\n'
    (project / "settings.py").write_text(settings + more)

    with serving(1, a_site) as server:
        first = first_crawl(project, server.origins[0])
        second = first_crawl(project, server.origins[0])

    assert asked.read_text() == "." * PAGES
    assert {str(item["url"]) for item in second} == {str(item["url"]) for item in first}
    assert all(item["dedup"]["verdict"] == "unchanged" for item in second)  # type: ignore[index]


@pytest.mark.crawl
def test_every_command_that_is_shown_runs(project: Path) -> None:
    shown = [
        command
        for command in re.findall(r"\$ scrapy (dedup [^#\n]*)", README)
        if command.split()[1] not in TRIED_ELSEWHERE
    ]

    with serving(1, a_site) as server:
        first_crawl(project, server.origins[0])
        (project / "results.jsonl").write_text('{"url": "https://new.example.org/", "engine": "one"}\n')
        for command in shown:
            arguments = shlex.split(command.replace("https://...", f"{server.origins[0]}/p1"))
            assert run(project, *arguments)
            if arguments[2:3] == ["backup"]:
                # A file that is there stays.
                (project / arguments[3]).unlink()
            json.loads(run(project, *arguments, "--json"))

    assert len(shown) >= 5


def test_the_spider_with_overrides_is_valid(tmp_path: Path) -> None:
    source = blocks("python")[-1]

    done = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.stderr == ""


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
