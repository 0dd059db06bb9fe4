"""From a page that a browser showed to what its site learns, and to its picture."""

import struct
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.teacher.numbering import NumberedPage
from scrapy_dedup.service.teacher.page_analysis import ShownPage
from scrapy_dedup.service.teacher.teaching import PageToShow
from scrapy_dedup.service.templates.site_learning import PageSnapshot, seen_page
from scrapy_dedup.teacher.values import RenderedPage

# Signature, length and name of the first chunk; then width and height.
_SIZE_OF_PNG: Final = struct.Struct(">16xII")


class LookedAtPage(Struct, frozen=True):
    """A page that was shown, and what is to be learned from it."""

    shown: ShownPage
    snapshot: PageSnapshot
    picture: bytes | None
    """PNG."""


def see(page: PageToShow, numbered: NumberedPage, shown: RenderedPage) -> LookedAtPage:
    """Return what is to be learned from a page that was shown."""
    height = _SIZE_OF_PNG.unpack_from(shown.picture)[1] if shown.picture else shown.snapshot.height
    share = shown.snapshot.js_share if page.needs_scripts else None
    return LookedAtPage(
        ShownPage(page.url, page.html, page.page, numbered, shown.snapshot, height, share),
        seen_page(page.page_key, page.url, page.page, numbered, shown.snapshot),
        shown.picture,
    )
