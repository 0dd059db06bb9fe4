from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse

LINKS = """<html><body>
<a href="/docs/a.html">same place</a> <a href="b.pdf">a PDF</a> <a href="#top">here</a>
<a href="http://127.0.0.1:9/x">other port</a> <a href="https://elsewhere.example/">other host</a>
<a href="/logo.png">picture</a> <a href="mailto:a@b.example">mail</a> <a href="http://[broken">broken</a>
<a href=" /c.html?utm_source=x ">tracked</a>
</body></html>"""


def spider(name: str = "site", **arguments: str) -> Any:
    module = import_module(f"example.spiders.{name}")
    crawler = Crawler(getattr(module, f"{name.title()}Spider"))
    made = crawler.spidercls.from_crawler(crawler, **{"start": "http://127.0.0.1:8000/index.html", **arguments})
    made.crawler = crawler
    return made


def results(of: Any, response: Response) -> tuple[list[Any], list[str]]:
    yielded = list(of.parse(response))
    return [one for one in yielded if isinstance(one, dict)], [one.url for one in yielded if not isinstance(one, dict)]


def page(of: Any, body: str = LINKS, url: str = "http://127.0.0.1:8000/docs/index.html", **other: Any) -> HtmlResponse:
    return HtmlResponse(url, body=body.encode(), encoding="utf-8", request=of.request(url), **other)


def test_what_is_not_html_becomes_an_item_without_html():
    site = spider()
    url = "http://127.0.0.1:8000/b.pdf"

    items, links = results(site, Response(url, body=b"%PDF-1.4", request=site.request(url)))

    assert items == [{"url": url}]
    assert links == []


def test_page_that_a_redirect_moved_off_the_site_is_left_out():
    site = spider()

    assert results(site, page(site, url="https://elsewhere.example/")) == ([], [])


def test_site_moves_with_the_redirect_of_its_start():
    site = spider(start="https://example.com/")
    request = site.request("https://www.example.com/").replace(meta={"redirect_urls": ["https://example.com/"]})

    items, links = results(site, HtmlResponse(request.url, body=b"<a href=/x>x</a>", request=request))

    assert items == [{"url": "https://www.example.com/"}]
    assert links == ["https://www.example.com/x"]


def test_sitemap_leads_to_pages_and_to_sitemaps_of_the_site():
    site = spider(sitemap="1")
    body = b"""<?xml version="1.0"?><all xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <sitemap><loc>http://127.0.0.1:8000/more.xml</loc></sitemap><url><loc> http://127.0.0.1:8000/a.html </loc></url>
    <url><loc>https://elsewhere.example/a.html</loc></url></all>"""

    requests = list(site.parse_sitemap(TextResponse(site.sitemap, body=body)))

    assert site.sitemap == "http://127.0.0.1:8000/sitemap.xml"
    assert [(request.url, request.callback.__name__) for request in requests] == [
        ("http://127.0.0.1:8000/more.xml", "parse_sitemap"),
        ("http://127.0.0.1:8000/a.html", "parse"),
    ]


def test_arguments_become_limits_and_this_machine_needs_no_delay():
    settings = spider(pages="7", seconds="30").crawler.settings

    assert settings.getint("CLOSESPIDER_PAGECOUNT") == 7
    assert settings.getfloat("CLOSESPIDER_TIMEOUT") == 30
    assert settings.getfloat("DOWNLOAD_DELAY") == 0


def test_delay_of_other_hosts_is_kept():
    assert spider(start="https://example.com/").crawler.settings.getpriority("DOWNLOAD_DELAY") == 0


@pytest.mark.parametrize("start", ["", "ftp://example.com/", "http://[broken"])
def test_start_that_is_no_url_is_refused_with_an_example(start):
    with pytest.raises(ValueError, match=r"-a start=https://example\.com/"):
        spider(start=start)


def test_project_knows_the_plugin_by_settings_alone():
    module = import_module("example.settings")

    assert module.ADDONS == {"scrapy_dedup.Addon": 700}
    assert module.__file__
    for file in Path(module.__file__).parents[1].rglob("*.py"):
        assert "import scrapy_dedup" not in file.read_text(encoding="utf-8"), file
        assert "from scrapy_dedup" not in file.read_text(encoding="utf-8"), file
