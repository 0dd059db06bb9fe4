"""What is known of a site as the store keeps it, and back."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.templates.layouts import LayoutIndex
from scrapy_dedup.core.templates.templates import selector, selectors
from scrapy_dedup.service.templates.site_knowledge import REST, LayoutTemplate, SiteKnowledge
from scrapy_dedup.store.records.records import TemplateRecord, TemplateStateRecord
from scrapy_dedup.store.records.stored import StoredTemplate


def template_record(knowledge: SiteKnowledge, layout: int, at: datetime) -> TemplateRecord:
    """Return a template as it is stored; that of the rest holds the site's layouts, too."""
    one = knowledge.templates[layout]
    body = one.to_json()
    if layout == REST:
        body |= {"pages": knowledge.pages, "index": knowledge.index.to_json()}
    return TemplateRecord(
        domain=knowledge.domain,
        body=body,
        created_at=at,
        selectors=readable(one),
        overrides=to_builtins(one.overrides),
        paths=one.paths,
        **one.plain | {"source": "visual" if one.source == "visual" else "static"},
    )


def new_templates(before: SiteKnowledge | None, after: SiteKnowledge, at: datetime) -> list[TemplateRecord]:
    """Return what is to be stored of a site that is known better: the templates that are new, or others than before."""
    known = before.templates if before is not None else {}
    templates = sorted(after.templates.items())
    return [template_record(after, layout, at) for layout, one in templates if known.get(layout) is not one]


def changes(
    before: SiteKnowledge | None, after: SiteKnowledge, at: datetime
) -> list[TemplateRecord | TemplateStateRecord]:
    """Return the same, and the templates that go."""
    reason = "pages of this layout are now of another one"
    gone = sorted(before.templates.keys() - after.templates.keys()) if before is not None else []
    retired = (TemplateStateRecord(after.domain, layout, None, "retired", reason, at) for layout in gone)
    return [*new_templates(before, after, at), *retired]


def readable(one: LayoutTemplate) -> dict[str, Any]:
    """Return a template as a person reads it: CSS selectors of what is kept and what is left out, and of the fields."""
    found = selectors(one.template)
    fields = {field: selector(path) for field, path in one.locators.to_json().items()}
    lists = {name: list(getattr(found, name)) for name in ("content", "beside", "exclude", "without_own_text")}
    return {**lists, **{name: fields.get(name) for name in ("title", "date", "author")}}


def site_of(domain: str, stored: Iterable[StoredTemplate]) -> SiteKnowledge | None:
    """Return what is stored of a site; None where there is nothing that this version can use.

    A template that is damaged, or of another version, is passed over: its pages are cut by that of the rest.
    """
    rows = list(stored)
    rest = next((row for row in rows if row.layout == REST), None)
    if rest is None:
        return None
    try:
        index = LayoutIndex.from_json(rest.body["index"])
        pages = int(rest.body["pages"])
    except (DedupError, LookupError, TypeError, ValueError):
        return None
    templates = {one.layout: one for row in rows for one in _readable(row)}
    return SiteKnowledge(domain, pages, index, templates)


def _readable(row: StoredTemplate) -> Iterator[LayoutTemplate]:
    try:
        yield LayoutTemplate.from_json({**row.body, **asdict(row)})
    except (DedupError, LookupError, TypeError, ValueError):
        return
