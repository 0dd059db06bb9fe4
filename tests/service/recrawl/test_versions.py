from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.recrawl.passages import number_key, page_keys
from scrapy_dedup.core.recrawl.verdicts import Change, ChangePolicy, VerdictKind
from scrapy_dedup.service.recrawl.versions import SiteVersions
from tests.core.builders import parsed

MENU = "<nav><p>Home Boats Nets</p></nav>"
NEW_MENU = "<nav><p>Home Boats Nets Offers</p></nav>"
ALL = ChangePolicy(frozenset(Change))


def page_of(name: object, menu: str = MENU, footer: str = "") -> Page:
    return parsed(f"<title>{name}</title>{menu}<main><p>All about {name} and nothing else.</p></main>{footer}")


def a_site(*, earlier: int = 0, today: int = 0, menu: str = MENU) -> SiteVersions:
    """Return a site of which so many pages were seen in the last crawl, and so many today."""
    site = SiteVersions(RepeatPolicy())
    site.recall([page_keys(page_of(number)) for number in range(earlier)])
    for number in range(today):
        site.meet(page_keys(page_of(number, menu)))
    return site


def compared(site: SiteVersions, old: Page, new: Page, *, moved: frozenset[int] = frozenset(), diff: bool = False):
    return site.compare(old, new, moved, ChangePolicy(), with_diff=diff)


def test_page_in_a_new_frame_is_unchanged_once_both_frames_are_known() -> None:
    """Of yesterday's frame the last crawl knows, of today's the pages that came before."""
    old, new = page_of("cats"), page_of("cats", NEW_MENU)

    unknown, known = SiteVersions(RepeatPolicy()), a_site(earlier=8, today=8, menu=NEW_MENU)

    assert compared(unknown, old, new).verdict.kind is VerdictKind.CHANGED
    for kind, counted in ((VerdictKind.UNCHANGED, ChangePolicy()), (VerdictKind.CHANGED, ALL)):
        told = known.verdict_by_blocks(page_keys(old), new, counted)
        assert told == known.compare(old, new, frozenset(), counted, with_diff=False).verdict
        assert told is not None
        assert (told.kind, told.change) == (kind, Change.BOILERPLATE_ONLY)


def counter(number: int) -> str:
    return f"<p class=views>Seen {number} times</p>"


KEY = number_key("body>p.views", "Seen 0 times")


def test_number_that_moves_on_most_pages_is_no_news() -> None:
    """Once enough pages have shown it; the first ones count as changed."""
    site = a_site(earlier=8)
    found = [
        compared(site, page_of(number, footer=counter(number)), page_of(number, footer=counter(number + 90)))
        for number in range(6)
    ]

    assert found[0].verdict.change is Change.NUMBERS
    assert found[-1].verdict.change is Change.VOLATILE
    assert found[-1].verdict.kind is VerdictKind.UNCHANGED
    assert all(KEY in one.moved for one in found)


def test_number_that_stands_still_elsewhere_is_news_where_it_moves() -> None:
    site = a_site(earlier=8)
    for number in range(20):
        page = page_of(number, footer=counter(5))
        assert site.verdict_by_blocks(page_keys(page), page, ChangePolicy())
    found = [
        compared(site, page_of(number, footer=counter(5)), page_of(number, footer=counter(6))) for number in range(4)
    ]

    assert {one.verdict.change for one in found} == {Change.NUMBERS}


def test_pages_that_were_not_sent_again_stood_still() -> None:
    site = a_site(earlier=8)
    site.not_modified = 50
    found = [
        compared(site, page_of(number, footer=counter(5)), page_of(number, footer=counter(6))) for number in range(6)
    ]

    assert {one.verdict.change for one in found} == {Change.NUMBERS}


def test_number_that_moved_on_this_page_the_time_before_is_no_news() -> None:
    found = compared(
        a_site(earlier=8), page_of(1, footer=counter(5)), page_of(1, footer=counter(6)), moved=frozenset({KEY})
    )

    assert (found.verdict.kind, found.verdict.change) == (VerdictKind.UNCHANGED, Change.VOLATILE)
