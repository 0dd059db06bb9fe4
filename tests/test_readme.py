"""What the README and docs/commands.md show is run here as it stands there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.running import scrapy
from tests.server import Answer, Site, serving
from tests.sites import html_page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PAGES = 9
TRIED_ELSEWHERE = ("doctor", "serve", "templates analyze-layout", "templates learn")
"""Verbs that start a browser, or do not end by themselves; each has tests of its own."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def a_site(origins: list[str]) -> Site:
    urls = [f"{origins[0]}/", *(f"{origins[0]}/p{n}?utm_source=menu" for n in range(1, PAGES))]
    # None leads home: Scrapy does not filter start requests, so that such a link brings the page once more.
    return {url: Answer(html_page(url, links=urls[1:])) for url in urls}


@pytest.fixture
def project(tmp_path) -> Path:
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
def test_the_one_line_cleans_the_spider_that_is_shown_and_gives_the_keys_that_are_shown(project):
    shown = json.loads(blocks("json")[0])

    with serving(1, a_site) as server:
        items = first_crawl(project, server.origins[0])

    assert len(items) == PAGES
    assert all("rights reserved" not in str(item["cleaned_content"]) for item in items)
    report = items[0]["dedup"]
    assert isinstance(report, dict)
    assert shown.keys() <= items[0].keys()
    assert shown["dedup"].keys() <= report.keys()
    assert report["removed"].keys() == shown["dedup"]["removed"].keys()
    assert report["removed"]["boilerplate"].keys() == shown["dedup"]["removed"]["boilerplate"].keys()


@pytest.mark.crawl
def test_the_three_ways_to_crawl_again_do_what_they_say(project):
    (shown,) = [block for block in blocks("python") if "DEDUP_REUSE" in block]
    addon, skip, reuse = [line for line in shown.splitlines() if not line.startswith("#")]
    more = 'SPIDER_MODULES = ["spiders"]'

    def crawl(*settings: str) -> list[dict[str, object]]:
        (project / "settings.py").write_text("\n".join((addon, more, *settings)) + "\n")
        # A delta feed takes no other feed's place.
        (project / "pages.jsonl").unlink(missing_ok=True)
        return first_crawl(project, server.origins[0])

    with serving(1, a_site) as server:
        first = crawl(reuse)
        again = crawl()
        delta = crawl(skip)
        spared = crawl(skip, reuse)

    assert {str(item["url"]) for item in again} == {str(item["url"]) for item in first}
    assert all(item["dedup"]["verdict"] == "unchanged" for item in again)  # type: ignore[index]
    assert delta == spared == []


@pytest.mark.crawl
def test_every_command_that_is_shown_runs(project):
    shown = [
        command
        for command in dict.fromkeys(re.findall(r"\$ scrapy (dedup [^#\n]*)", README + COMMANDS))
        if not command.removeprefix("dedup ").startswith(TRIED_ELSEWHERE)
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

    assert len(shown) >= 15


def test_the_spider_with_overrides_is_valid(tmp_path):
    source = blocks("python")[-1]

    done = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.stderr == ""


def test_it_is_read_in_a_few_minutes():
    assert len(README.split()) <= 800


def test_links_lead_to_files():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
