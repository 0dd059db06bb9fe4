import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.resilience.discovery import (
    may_have_signposts,
    read_signposts,
    sitemaps_of_robots,
    usual_sitemaps,
)
from tests.growth import assert_in_proportion
from tests.tables import table

URL = "http://a.example/x/"


def test_robots_txt_names_sitemaps() -> None:
    body = b"\xef\xbb\xbfUser-agent: *\nSITEMAP:http://a.example/1.xml\n sitemap: /2.xml # two\n"
    body += b"Sitemap: mailto:x\nSitemap: http://[\n"

    assert sitemaps_of_robots(body * 2, "http://a.example/robots.txt") == [
        "http://a.example/1.xml",
        "http://a.example/2.xml",
    ]


def test_robots_txt_names_no_more_than_are_read() -> None:
    assert len(sitemaps_of_robots("".join(f"Sitemap: /{number}\n" for number in range(200)).encode(), URL)) == 100


def test_usual_places_are_on_the_host() -> None:
    assert usual_sitemaps(URL)[0] == "http://a.example/sitemap.xml"


@table("core/archive_is_found_by_its_name")
def test_archive_is_found_by_its_name(link: str) -> None:
    assert read_signposts(link, URL).archives == ("http://a.example/old",)


@pytest.mark.parametrize(
    ("path", "is_archive"),
    [("/2023", True), ("/blog/2023/05/", True), ("/site_map", True), ("/2023/05/17", False), ("/archivist", False)],
)
def test_archive_is_found_by_its_address(path: str, *, is_archive: bool) -> None:
    found = read_signposts(f'<nav><a href="{path}">x</a></nav>', URL).archives

    assert found == ((f"http://a.example{path}",) if is_archive else ())


def test_signposts_of_one_page_are_few() -> None:
    links = "".join(f'<a href="/{number}">archive</a>' for number in range(99))
    feeds = "".join(f'<link rel=alternate type="application/rss+xml" href="/{number}">' for number in range(99))

    found = read_signposts(f"<head>{feeds}</head><nav>{links}</nav>", URL)

    assert (len(found.archives), len(found.feeds)) == (50, 10)


@pytest.mark.parametrize(
    "tag", ['<link rel="next" href="/2">', '<a rel="nofollow next" href="/2">x</a>', "<a REL=next href=/2>"]
)
def test_next_part_is_found(tag: str) -> None:
    assert may_have_signposts(tag)
    assert read_signposts(f"<a rel=prev href=/1>{tag}", URL).next_href == "http://a.example/2"


@pytest.mark.parametrize(("unit", "end"), [("rel=", ""), ("rel ", ""), ("<nav>", "<a href=x>archive"), ("rel=a ", "")])
def test_hostile_page_takes_time_in_proportion_to_its_length(unit: str, end: str) -> None:
    assert_in_proportion(
        lambda html: (may_have_signposts(html), read_signposts(html, URL)), lambda size: unit * size + end, 50_000
    )


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    read_signposts(f"<nav><a href='{text}'>archive", URL)
    sitemaps_of_robots(text.encode("utf-8", "surrogatepass"), URL)
