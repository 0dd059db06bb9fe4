"""One page that a browser showed: what of it is content, by whose word, and how far what it looks like agrees."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from scrapy_dedup.core.metadata.locators import Field
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.teacher import NumberedPage, Snapshot, Unseen, looks_of, unseen_text
from scrapy_dedup.core.templates.templates import selector
from scrapy_dedup.report.values import PictureBox
from scrapy_dedup.service.cut.site_cleaning import How, SiteCut, cut_page
from scrapy_dedup.service.cut.site_patterns import SitePatterns
from scrapy_dedup.service.teacher.layout_picture import boxes_of, places_of, reasons_of
from scrapy_dedup.service.templates.layout_figures import name_of
from scrapy_dedup.service.templates.site_knowledge import LayoutTemplate, SiteKnowledge
from scrapy_dedup.service.templates.site_records import readable
from scrapy_dedup.settings import Settings

# Of a block: what looks more like content than this is taken for it.
_LOOKS_MAIN: Final = 0.5


class ShownPage(Struct, frozen=True):
    """A page, and how a browser showed it.

    Attributes:
        height: of the picture.
        js_share: share of the text that scripts made; None where nobody looked with scripts.
    """

    url: str
    html: str
    page: Page
    numbered: NumberedPage
    snapshot: Snapshot
    height: int
    js_share: float | None = None


class FoundField(Struct, frozen=True):
    """A title, date or author.

    Attributes:
        source: where the value was declared or stood: json-ld, h1, locator ...
        selector: of the element that shows it; empty where none does.
        number: of that element; None where none does.
    """

    name: str
    value: str | None
    source: str
    selector: str = ""
    number: int | None = None


class AnalyzedPage(Struct, frozen=True):
    """What is known of a page after it was looked at.

    Attributes:
        agreement: between what was kept and what looks like content, 0.0 to 1.0: F1 by characters.
        template: by which the page was cut; None: by no template.
        is_known: whether something was learned of its site before.
    """

    shown: ShownPage
    cut: SiteCut
    boxes: tuple[PictureBox, ...]
    fields: tuple[FoundField, ...]
    agreement: float
    unseen: tuple[Unseen, ...]
    template: LayoutTemplate | None
    is_known: bool

    @property
    def how(self) -> str:
        """By what the page was cut, in words."""
        if self.template is not None:
            return f"template of layout {name_of(self.template.layout)}, version {self.template.version or 'new'}"
        why = f": {self.cut.misfit}" if self.cut.misfit else ": nothing is known of its site"
        return f"{'fallback' if self.cut.how is How.FALLBACK else 'kept whole'}{why}"

    def to_json(self) -> dict[str, Any]:
        """Return all but the picture as plain values."""
        shown, template = self.shown, self.template
        body = template.to_json() | {"selectors": readable(template)} if template is not None else None
        return {
            "url": shown.url,
            "cut_by": str(self.cut.how),
            "how": self.how,
            "layout": name_of(self.cut.layout),
            "site_known": self.is_known,
            "chars_in": self.cut.cleaned.chars_in,
            "chars_out": self.cut.cleaned.chars_out,
            "agreement": round(self.agreement, 3),
            "js_share": shown.js_share,
            "fields": {field.name: to_builtins(field) | {"name": field.name} for field in self.fields},
            "unseen": [{"reason": str(one.reason), "text": one.text} for one in self.unseen],
            "size": {"width": shown.snapshot.width, "height": shown.height},
            "boxes": to_builtins(self.boxes),
            "template": body,
        }


def analyze_page(
    shown: ShownPage, site: SiteKnowledge | None, settings: Settings, patterns: SitePatterns | None = None
) -> AnalyzedPage:
    """Return what is to be told of a page that was shown.

    Args:
        shown: the page.
        site: what is known of its site; None for nothing.
        settings: for the cut.
        patterns: of its site; None for those of the settings alone.
    """
    page, found = shown.page, cut_page(shown.html, shown.page, shown.url, site, settings, patterns)
    template = site.template_for(found.layout, shown.url) if site is not None and found.how is How.TEMPLATE else None
    kept = [reason is None for reason in reasons_of(page, found)]
    return AnalyzedPage(
        shown=shown,
        cut=found,
        boxes=boxes_of(page, shown.numbered, shown.snapshot, found, height=shown.height),
        fields=tuple(_fields(shown, found)),
        agreement=agreement(page, shown.numbered, shown.snapshot, kept),
        unseen=tuple(unseen_text(page, shown.numbered, shown.snapshot, closed=True)),
        template=template,
        is_known=site is not None and bool(site.templates),
    )


def agreement(page: Page, numbered: NumberedPage, snapshot: Snapshot, kept: Sequence[bool]) -> float:
    """Return how far what is kept of a page is what looks like content: F1 by characters, of text that is seen."""
    main = looks_of(page, numbered, snapshot).main
    both = ours = theirs = 0
    for block, number, stays in zip(page.blocks, numbered.of_blocks, kept, strict=True):
        if number not in main:
            continue  # nobody sees it: a browser has no opinion of it
        looks, chars = main[number] >= _LOOKS_MAIN, len(block.text)
        both += chars * (looks and stays)
        ours += chars * stays
        theirs += chars * looks
    return 2 * both / (ours + theirs) if ours + theirs else 1.0


def _fields(shown: ShownPage, found: SiteCut) -> Iterable[FoundField]:
    metadata = found.metadata
    places = places_of(shown.page, metadata)
    values: Mapping[Field, str | None] = {
        Field.TITLE: metadata.title,
        Field.DATE: metadata.date,
        Field.AUTHOR: metadata.author,
    }
    for field, value in values.items():
        one = FoundField(str(field), value, metadata.sources.get(field, ""))
        if (place := places.get(field)) is not None:
            path = shown.page.blocks[place].path
            one = replace(one, selector=selector(path), number=shown.numbered.of_blocks[place])
        yield one
