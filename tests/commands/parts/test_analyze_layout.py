"""`scrapy dedup templates analyze-layout` with a real Chromium, on a site of our own."""

import json
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.teacher import numbered
from scrapy_dedup.service.templates.site_knowledge import learn_site
from scrapy_dedup.service.templates.site_records import template_record
from scrapy_dedup.settings import Settings
from tests.browser import Scheme, opened, shared_chromium
from tests.commands.running import Outcome, Shop, scrapy
from tests.commands.shown import ARTICLES, server
from tests.server import Answer, redirect, serving
from tests.service.stored_pages import NOON
from tests.shown_site import BANNER, UNSEEN, article
from tests.tables import table

__all__ = ["server"]
# All of them need a Chromium, which the site asks for.
pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("server")]


@pytest.fixture(scope="module")
def analyzed(server, tmp_path_factory) -> tuple[Path, Outcome, list[str]]:
    """A page of a site that nothing is known of: the folder, what was said, and what the server was asked for."""
    folder = tmp_path_factory.mktemp("analyzed")
    server.requests.clear()
    told = analyze(folder, f"{server.origins[0]}/ropes/3")
    return folder, told, [url.removeprefix(server.origins[0]) for url in server.requests]


SHOWN: list[tuple[int, Scheme]] = [(1280, "light"), (390, "dark")]


def analyze(folder: Path, url: str, *arguments: str, **environment: str) -> Outcome:
    return scrapy("dedup", "templates", "analyze-layout", url, "--json", *arguments, folder=folder, **environment)


Analyzed = tuple[Path, Outcome, list[str]]


def test_page_and_style_sheet_are_asked_for_once(analyzed):
    _, told, asked = analyzed

    assert (told.code, told.err) == (0, "")
    assert sorted(asked) == ["/robots.txt", "/ropes/3", "/style.css"]


def test_files_stand_in_a_folder_named_by_the_host_and_nothing_else_is_written(analyzed):
    folder, told, _ = analyzed

    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {f"127.0.0.1/layout.{kind}" for kind in ("png", "html", "json")} == set(told.json["files"].values())
    assert json.loads((folder / "127.0.0.1" / "layout.json").read_text()) == told.json
    assert (folder / "127.0.0.1" / "layout.png").read_bytes().startswith(b"\x89PNG")


def test_every_box_is_of_a_node_of_the_page_as_it_was_sent(analyzed):
    html = article(3, ARTICLES)
    page = parse_page(html)
    assert isinstance(page, Page)
    static = numbered(html, page)

    boxes = analyzed[1].json["boxes"]

    tags = {(box["kind"], static.tags[box["number"]]) for box in boxes}
    assert all(0 <= box["number"] < len(static.tags) for box in boxes)
    assert {("title", "h1"), ("overlay", "div"), ("boilerplate", "header"), ("boilerplate", "footer")} <= tags
    assert ("content", "body") not in tags


def test_what_is_seen_is_told(analyzed):
    told: dict[str, Any] = analyzed[1].json

    assert analyzed[1].out.isascii()
    assert told["size"]["width"] > 0
    assert told["fields"]["title"]["value"] == LexborHTMLParser(article(3, ARTICLES)).css("h1")[0].text()
    assert told["fields"]["date"]["value"] == "2024-03-04"
    assert told["fields"]["author"]["value"] == "Ann Lee"
    assert told["fields"]["title"]["selector"].endswith("h1")
    assert [one["text"] for one in told["unseen"]] == [UNSEEN]
    assert told["agreement"] > 0.9
    assert told["js_share"] == 0.0
    assert (told["cut_by"], told["site_known"], told["template"]) == ("fallback", False, None)
    assert told["browser"].startswith("Chromium")


def test_page_around_the_picture_fits_and_asks_for_nothing(analyzed):
    file = analyzed[0] / "127.0.0.1" / "layout.html"

    with shared_chromium() as browser:
        for width, scheme in SHOWN:
            with opened(browser, file.as_uri(), width=width, scheme=scheme) as shown:
                shown.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")

                assert (shown.overhang, shown.requests_elsewhere, shown.complaints) == (0, [], [])
                assert shown.page.locator("svg image").count() == 1
                assert BANNER not in shown.page.locator("main").inner_text()


def test_a_site_that_is_known_is_cut_by_its_template_and_robots_txt_may_be_passed_over(server, tmp_path):
    server.site |= answers(server.origins[0])
    shop = Shop(tmp_path)
    domain = server.origins[0].removeprefix("http://")
    pages = [(f"{server.origins[0]}/ropes/{number}", article(number, ARTICLES)) for number in range(ARTICLES)]
    knowledge = learn_site(domain, pages, Settings())
    with shop.open() as store:
        shop.project(store).write(template_record(knowledge, layout, NOON) for layout in sorted(knowledge.templates))

    told = shop.run(
        *("templates", "analyze-layout", f"{server.origins[0]}/private/1"), "-s", "ROBOTSTXT_OBEY=False", "-o", "out"
    )

    found = json.loads((tmp_path / "out" / "layout.json").read_text())
    assert (told.code, found["cut_by"], found["site_known"]) == (0, "template", True)
    assert found["how"].startswith("template of layout ")
    assert found["template"]["selectors"]["content"]
    assert any(" pages" in box["label"] for box in found["boxes"] if box["kind"] == "boilerplate")
    assert LexborHTMLParser((tmp_path / "out" / "layout.html").read_text()).css(".rules code")
    for words in ("Cut by the template", "Title, date, author", "lies over the page", "out/layout.png"):
        assert words in told.out


MADE = "<html><body><div id='root'></div><script>{}</script></body></html>"
FILL = "document.getElementById('root').innerHTML = '<main><p>' + 'Made by a script. '.repeat(60) + '</p></main>'"
HANG = f"<html><body><main><p>{'Here is a text that stands on the page. ' * 9}</p></main><script>while (true);</script>"


@pytest.mark.parametrize(
    ("html", "share"),
    [pytest.param(MADE.format(FILL), 1.0, id="made-by-scripts"), pytest.param(HANG, None, id="hangs")],
)
def test_what_scripts_make_is_told_and_nothing_hangs(server, tmp_path, html, share):
    url = f"{server.origins[0]}/scripted"
    server.site[url] = Answer(html)

    told = analyze(tmp_path, url, "-s", 'DEDUP_BROWSER={"timeout": 4}')

    assert told.code == 0, told.err
    assert told.json["js_share"] == share


def answers(origin: str) -> dict[str, Answer]:
    return {
        f"{origin}/private/1": Answer(article(1, ARTICLES)),
        f"{origin}/picture": Answer(b"\x89PNG", content_type="image/png"),
    }


@table("wrong_calls/analyze_layout")
def test_what_cannot_be_done_is_told_with_a_way_out(server, tmp_path, path, arguments, message):
    server.site |= answers(server.origins[0])
    (tmp_path / "a-file").write_text("here")

    told = analyze(tmp_path, server.origins[0] + path, *arguments)

    assert (told.code, told.out) == (1, "")
    assert message in told.err
    assert told.err.count("\n") == 1


def test_a_wrong_address_is_a_wrong_call(tmp_path):
    assert analyze(tmp_path, "ftp://example.com/").code == 2


@pytest.mark.parametrize("way", ["redirect", "refresh"])
def test_a_page_leads_to_no_other_port_of_a_private_address(server, tmp_path, way):
    here = server.origins[0]

    def to(target: str) -> Answer:
        return redirect(target) if way == "redirect" else Answer(f'<meta http-equiv=refresh content="0; url={target}">')

    with serving(1, lambda origins: {f"{origins[0]}/secret": Answer("<p>secret")}) as other:
        server.site[f"{here}/away"] = to(f"{other.origins[0]}/secret")
        away = analyze(tmp_path, f"{here}/away")

    assert (away.code, other.requests) == (1, [])
    assert "name the address itself" in away.err
