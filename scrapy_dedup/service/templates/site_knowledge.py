"""What is known of one site: its layouts, and how the pages of each are cut."""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Self

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from scrapy_dedup.core.duplicates import SiteSeen
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.locators import Locators
from scrapy_dedup.core.templates.layouts import LayoutIndex, Skeleton
from scrapy_dedup.core.templates.templates import Template, Vision
from scrapy_dedup.core.templates.url_patterns import matches_pattern

State = Literal["probation", "live", "retired"]

REST: Final = 0
"""The layout of the pages that are of no known one; no signature has this value but by chance in 2⁶⁴."""

_PLAIN: Final = "layout structure kind url_pattern pages confidence state reason source model".split()

BY_HAND: Final = "taken back by hand"
"""So begins the reason of a version that a person made live again: learning does not take its place."""


class StoredKnowledgeError(DedupError):
    """What was stored of a site cannot be read by this version."""


class Override(Struct, frozen=True):
    """What a person decided about the elements that a selector matches."""

    action: Literal["keep", "drop"]
    selector: str
    at: str = ""
    """When, in ISO 8601, and by whom: notes for people."""
    by: str = ""


class LayoutTemplate(Struct, frozen=True):
    """How the pages of one layout are cut; for what stands here see `store.records.records.TemplateRecord`."""

    layout: int
    template: Template
    locators: Locators = field(default_factory=Locators)
    structure: int = 0
    paths: tuple[str, ...] = ()
    kind: str = "page"
    url_pattern: str | None = None
    pages: int = 0
    confidence: float = 0.0
    state: State = "probation"
    reason: str = ""
    source: str = "static"
    """`visual` where a browser has shown pages of it, and that taught the template."""
    model: str = ""
    """What stands for the file of the model that made it."""
    vision: Vision | None = None
    """What it showed; None where it showed none."""
    overrides: tuple[Override, ...] = ()
    version: int | None = None
    """As stored; None while it is new."""

    @property
    def plain(self) -> dict[str, Any]:
        """Return what is stored of it as it stands here."""
        return {name: getattr(self, name) for name in _PLAIN}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return it from what `to_json` gave, with all that stands beside it."""
        return cls(
            template=Template.from_json(stored["template"]),
            locators=Locators.from_json(stored["locators"]),
            vision=convert(stored.get("vision"), Vision | None),
            paths=tuple(stored["paths"]),
            overrides=convert(stored["overrides"], tuple[Override, ...]),
            version=stored["version"],
            **{name: stored[name] for name in _PLAIN},
        )

    def to_json(self) -> dict[str, Any]:
        """Return what is needed to cut by it."""
        body: dict[str, Any] = {"template": self.template.to_json(), "locators": self.locators.to_json()}
        return body | ({"vision": to_builtins(self.vision)} if self.vision is not None else {})


class SiteKnowledge(Struct):
    """One domain. A domain that has no templates is known to have had too few pages, or pages too different."""

    domain: str
    pages: int = 0
    """Learned from so many."""
    index: LayoutIndex = field(default_factory=LayoutIndex)
    templates: dict[int, LayoutTemplate] = field(default_factory=dict)

    @property
    def seen(self) -> SiteSeen:
        """By which it is told what a page's own text is."""
        rest = self.templates.get(REST)
        return SiteSeen(rest.template.repeated if rest is not None else (), self.pages)

    @property
    def need_rendering(self) -> frozenset[int]:
        """Layouts whose text is made by scripts."""
        return frozenset(
            layout for layout, one in self.templates.items() if one.vision is not None and one.vision.needs_rendering
        )

    def layout_of(self, skeleton: Skeleton) -> int:
        """Return the layout that a page has; REST where it is of none."""
        match = self.index.find(skeleton)
        return match.signature if match is not None else REST

    def template_for(self, layout: int, url: str) -> LayoutTemplate | None:
        """Return the live template by which a page is cut: that of its layout, of its URL's, or of the rest."""
        chosen = self.templates.get(layout)
        if chosen is None or layout == REST:
            patterns = ((one.url_pattern, one) for _, one in sorted(self.templates.items()) if one.url_pattern)
            by_url = next((one for pattern, one in patterns if matches_pattern(pattern, url)), None)
            chosen = by_url or self.templates.get(REST)
        return chosen if chosen is not None and chosen.state == "live" else None

    def merged(self, newer: "SiteKnowledge", *, replaces_rest: bool) -> "SiteKnowledge":
        """Return this knowledge with that of pages which it did not fit.

        Args:
            newer: learned from such pages alone.
            replaces_rest: pages of no known layout are cut as those were: after a redesign.
        """
        templates = self.templates | {
            layout: one for layout, one in newer.templates.items() if layout != REST or replaces_rest
        }
        index = LayoutIndex.from_json(self.index.to_json())
        for layout in newer.index.layouts:
            index.add(layout.skeleton, layout.pages)
        return SiteKnowledge(self.domain, max(self.pages, newer.pages), index, templates)

    def with_decisions_of(self, older: "SiteKnowledge | None") -> "SiteKnowledge":
        """Return it with what was decided before: overrides, versions taken back, and what needs rendering."""
        if older is None:
            return self
        decided = {layout: one.overrides for layout, one in older.templates.items() if one.overrides}
        templates = {
            layout: replace(one, overrides=decided[layout]) if layout in decided else one
            for layout, one in self.templates.items()
        }
        templates |= {
            # Rendered, its pages have the same layout, and another text.
            layout: replace(one, vision=older.templates[layout].vision)
            for layout, one in templates.items()
            if layout in older.need_rendering
        }
        templates |= {layout: one for layout, one in older.templates.items() if one.reason.startswith(BY_HAND)}
        return SiteKnowledge(self.domain, self.pages, self.index, templates)

    def with_snapshots_of(self, older: "SiteKnowledge | None") -> "SiteKnowledge":
        """Return it with the templates that a browser taught before, where none has taught newer ones."""
        if older is None:
            return self
        taught = {
            layout: one
            for layout, one in older.templates.items()
            if one.source == "visual" and layout in self.templates and self.templates[layout].source != "visual"
        }
        return SiteKnowledge(self.domain, self.pages, self.index, self.templates | taught)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "domain": self.domain,
            "pages": self.pages,
            "index": self.index.to_json(),
            "templates": [
                one.plain
                | one.to_json()
                | {"paths": list(one.paths), "overrides": to_builtins(one.overrides), "version": one.version}
                for _, one in sorted(self.templates.items())
            ],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `to_json` gave.

        Raises:
            DedupError: it is damaged, or of another version.
        """
        try:
            templates = [LayoutTemplate.from_json(one) for one in stored["templates"]]
            index = LayoutIndex.from_json(stored["index"])
            return cls(stored["domain"], stored["pages"], index, {one.layout: one for one in templates})
        except (KeyError, TypeError, ValueError) as error:
            raise StoredKnowledgeError(f"knowledge of a site: damaged ({error!r}); learn it again") from error


# Of JSON, which is some 7 MB in memory once it is read: 8 million characters of 12 real sites were 52.
# Pages of one domain mostly stand together.
MOST_CHARS: Final = 1_000_000
# Of a domain that nothing is known of, beside its name.
_NOTHING: Final = 200


class _Held(Struct, frozen=True):
    knowledge: SiteKnowledge | None
    chars: int


class RecentKnowledge:
    """Reads what is known of a domain, unless it has it; for one thread."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        """Take how many characters of JSON the domains may have that are held; the last one is, whatever it has."""
        self._most_chars = most_chars
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._chars = 0

    def get(self, place: str, read: Callable[[], str | None]) -> SiteKnowledge | None:
        """Return what lies at a place, where it stays as it is.

        Args:
            place: one for each domain.
            read: gives the JSON that lies there; None: nothing does.
        """
        held = self._held.get(place)
        if held is None:
            text = read()
            known = SiteKnowledge.from_json(json.loads(text)) if text is not None else None
            held = _Held(known, len(place) + (len(text) if text is not None else _NOTHING))
            self._held[place] = held
            self._chars += held.chars
            while self._chars > self._most_chars and len(self._held) > 1:
                self._chars -= self._held.popitem(last=False)[1].chars
        self._held.move_to_end(place)
        return held.knowledge
