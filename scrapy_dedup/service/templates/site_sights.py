"""What a browser showed of a site's pages, as it is kept until the site is learned."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.teacher.numbering import NumberedPage
from scrapy_dedup.core.teacher.rendered import Sight
from scrapy_dedup.core.teacher.vision import SeenPage, Vision, see, vision_of
from scrapy_dedup.core.templates.layouts import LayoutIndex, Skeleton, skeleton_of


@dataclass(frozen=True, slots=True)
class PageSight:
    """A page that a browser showed; pickled, it goes to other processes."""

    page_key: bytes
    url: str
    skeleton: Skeleton
    seen: SeenPage


def seen_page(page_key: bytes, url: str, page: Page, numbered: NumberedPage, sight: Sight) -> PageSight:
    """Return what is to be learned from how a page looks.

    Args:
        page_key: of the page.
        url: its address.
        page: as it came, parsed.
        numbered: the same, as the browser showed it.
        sight: what was seen.
    """
    return PageSight(page_key, url, skeleton_of(page), see(page, numbered, sight))


class SiteSights:
    """The shown pages of one site, each once, by their keys; without those that a browser showed oddly."""

    def __init__(self, sights: Sequence[PageSight]) -> None:
        self.all = [one for _, one in sorted({one.page_key: one for one in sights}.items()) if not one.seen.is_odd]

    def of(self, index: LayoutIndex, layout: int) -> "SiteSights":
        """Return the sights of one layout."""
        found = ((one, index.find(one.skeleton)) for one in self.all)
        return SiteSights([one for one, match in found if match is not None and match.signature == layout])

    def vision(self, agreement: float) -> Vision | None:
        """Return what is kept of them with a template; None where there are none."""
        return vision_of([one.seen for one in self.all], agreement) if self.all else None
