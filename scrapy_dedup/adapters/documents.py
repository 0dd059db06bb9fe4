"""What an index takes of a page: text under a stable id, metadata that only a change of the page moves, and the visit.

Indexes hash a document with all of its metadata, and embed it again when the hash differs. What differs with every
visit (time, run, verdict) is therefore kept beside the metadata.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Final, Self

from itemadapter import ItemAdapter

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.core.urls import DEFAULT_RULES, UrlRules, extract_domain, normalize_url, page_key
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings

# Drawn once. Another would give every page another id, and every index would be made anew.
NAMESPACE: Final = uuid.UUID("8f0a5a39-5f0d-4e0c-9d3b-6f6f4d0e7c51")

PAGE_ID: Final = "page_id"
SOURCE: Final = "source"

# Titles are hostile text, and node parsers refuse metadata that are longer than a chunk.
_LONGEST_TITLE: Final = 300
# Fields of `dedup` that a page keeps, and that stand elsewhere.
_KEPT: Final = frozenset(["project", "page_key", "domain"])

Metadata = dict[str, str | int | float | bool]


class AdapterError(DedupError):
    """Items, a feed or an index cannot be used as they are; the message says what to change."""


class MissingExtraError(DedupError, ImportError):
    """A library that is an extra of this package is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed: pip install 'scrapy-dedup[{extra}]'")


class LeftReason(StrEnum):
    """Why an item is not for an index; each name is the end of a stat."""

    NO_ITEM = "no_item"
    NO_URL = "no_url"
    NO_TEXT = "no_text"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class Left:
    """An item or page that an index is not told of."""

    reason: LeftReason


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page.

    Attributes:
        id: of project and page; the content has no part in it.
        text: empty where nothing is left of the page.
        metadata: flat; they change only with what they say, and not with the spelling of the page's URL.
        content_hash: SHA-256 of the text, white space folded; hexadecimal digits.
        visit: what differs from visit to visit.
    """

    id: str
    text: str
    metadata: Metadata
    content_hash: str
    visit: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The page's URL in its normal form."""
        return str(self.metadata[SOURCE])


@dataclass(frozen=True, slots=True)
class RemovedPage:
    """A page that is gone: its documents are to be deleted."""

    id: str
    source: str
    visit: Mapping[str, Any] = field(default_factory=dict)


Entry = PageText | RemovedPage


@dataclass(frozen=True, slots=True)
class Reading:
    """How items are read.

    Attributes:
        project: of items that do not name theirs.
        url_field: of items whose `dedup` does not name the URL.
        metadata_fields: fields of items that become metadata, where they have them. Texts, numbers and dates stay as
            they are; lists and dicts become JSON.
        rules: those of the crawl, so that all of its spellings of a URL have one `source`.
    """

    project: str = ""
    url_field: str = "url"
    metadata_fields: tuple[str, ...] = ("title", "date", "author")
    rules: UrlRules = DEFAULT_RULES

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return how the items of a crawl with these settings are read."""
        return cls(project=settings.project, url_field=settings.url_field, rules=url_rules(settings))


DEFAULT_READING: Final = Reading()


@dataclass(slots=True)
class Outcome:
    """What was done to an index.

    Attributes:
        added, skipped: documents (LangChain: parts of pages, as they were split) that were embedded and stored, and
            that were there already.
        deleted: documents of older versions and of removed pages.
        left: items that are not for an index, by reason.
    """

    added: int = 0
    skipped: int = 0
    deleted: int = 0
    left: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: "Outcome") -> Self:
        self.added += other.added
        self.skipped += other.skipped
        self.deleted += other.deleted
        self.left += other.left
        return self


def read(item: Any, reading: Reading = DEFAULT_READING) -> Entry | Left:
    """Return what an index is to know of an item of any kind, a line of a feed included.

    What was read before is returned as it is.
    """
    if isinstance(item, PageText | RemovedPage | Left):
        return item
    if not ItemAdapter.is_item(item):
        return Left(LeftReason.NO_ITEM)
    fields = ItemAdapter(item)
    report = fields.get("dedup")
    report = report if isinstance(report, Mapping) else {}
    url = _text_of(report, "url") or _text_of(fields, reading.url_field)
    if not url:
        return Left(LeftReason.NO_URL)
    # Of a page that names another as its canonical, `page_key` is that one's. Here each has its own id: a tombstone
    # is of the page that was visited, and must not take the documents of the others along.
    known_key = "" if "canonical" in report else _text_of(report, "page_key")
    identity = page_id(_text_of(report, "project") or reading.project, known_key or page_key(url, reading.rules).hex())
    source = plain(normalize_url(url, reading.rules))
    visit = {"url": url} | {name: value for name, value in report.items() if name not in _KEPT}
    if report.get("verdict") == "removed":
        return RemovedPage(identity, source, visit)
    text = fields.get("cleaned_content")
    if not isinstance(text, str):
        return Left(LeftReason.NO_TEXT)
    chosen = {name: fields[name] for name in reading.metadata_fields if name in fields}
    domain = _text_of(report, "domain") or extract_domain(url) or ""
    return page_text(identity, source, domain, text, chosen, visit)


def page_text(
    identity: str, source: str, domain: str, text: str, chosen: Mapping[str, Any], visit: Mapping[str, Any]
) -> PageText:
    """Return a page's text with its metadata."""
    text = plain(text).strip()
    metadata: Metadata = {name: value for name in chosen if (value := _metadata_value(chosen[name])) not in (None, "")}
    if isinstance(title := metadata.get("title"), str):
        metadata["title"] = title[:_LONGEST_TITLE]
    metadata |= {PAGE_ID: identity, SOURCE: source, "domain": domain}
    # No metadata: they go with every part of a page, and a part that did not change must not be embedded again.
    hashed = content_hash(text).hex()
    return PageText(identity, text, metadata, hashed, {**visit, "content_hash": hashed})


def page_id(project: str, key: str) -> str:
    """Return the id of a page, a UUID.

    Args:
        project: the namespace of the crawl, `dedup.project`.
        key: the page's key as hexadecimal digits, `dedup.page_key`.
    """
    return str(uuid.uuid5(NAMESPACE, f"{plain(project)}\0{key.lower()}"))


def plain(text: str) -> str:
    """Return a text that any index can store: PostgreSQL refuses NUL, and UTF-8 lone surrogates."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def pages_in(items: Iterable[Any], reading: Reading = DEFAULT_READING) -> list[PageText]:
    """Return the texts among items that are not empty, in order."""
    entries = (read(item, reading) for item in items)
    return [entry for entry in entries if isinstance(entry, PageText) and entry.text]


def removed_in(items: Iterable[Any], reading: Reading = DEFAULT_READING) -> list[RemovedPage]:
    """Return the removed pages among items, in order."""
    entries = (read(item, reading) for item in items)
    return [entry for entry in entries if isinstance(entry, RemovedPage)]


def _text_of(fields: Any, name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def _metadata_value(value: Any) -> str | int | float | bool | None:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return plain(value).strip()
    if isinstance(value, date):  # or a datetime
        return value.isoformat()
    return plain(json.dumps(value, sort_keys=True, default=str, ensure_ascii=False))
