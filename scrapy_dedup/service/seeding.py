"""What earlier crawls saw, put into the store, so that the first crawl of ours does not pay for it again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from itertools import chain
from typing import Any

from scrapy_dedup.core.keeping import Unkeepable
from scrapy_dedup.service.seeding_pages import Found, FoundPage, NoPage, Unreadable
from scrapy_dedup.service.seeding_records import (
    NO_CONTENT,
    Prepared,
    extraction,
    kept_item,
    prepare,
    seeded_memo_key,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.codec import to_json
from scrapy_dedup.store.records import Record
from scrapy_dedup.store.writer import ProjectStore

_PAGES_AT_ONCE = 200
_CHARS_AT_ONCE = 8_000_000
_EXAMPLES = 5


@dataclass(slots=True)
class Outcome:
    """What became of what was read: every line or entry is counted under one of the others.

    Attributes:
        seeded: pages that were new to the store, or older there.
        joined: further items of pages that are seeded.
        known: pages of which the store knows as much already.
        no_page: redirects, errors, images.
        comparable: of the seeded those whose HTML is known; of the others the first crawl is the baseline.
        items_left: items that are too large or too deep to be kept: they are not replayed.
        examples: the first few that could not be read.
    """

    read: int = 0
    seeded: int = 0
    joined: int = 0
    known: int = 0
    no_page: int = 0
    unreadable: int = 0
    comparable: int = 0
    items_left: int = 0
    examples: list[Unreadable] = field(default_factory=list)


@dataclass(slots=True)
class _Known:
    """A page in the store, or seeded a moment ago.

    Attributes:
        at: None for another address of a page.
        content: hash of its content; None where nothing is known that a crawl could compare.
        held_under: the content under which a seeded outcome is kept, which items may join; None where none is.
    """

    at: datetime | None = None
    content: bytes | None = None
    visits: int = 0
    changes: int = 0
    held_under: bytes | None = None


@dataclass(slots=True)
class _Items:
    """The items of a seeded page; None: none were known."""

    at: datetime
    kept: list[Any] | None


class Seeding:
    """One call. A dry run keeps some 500 bytes a page in memory, where a real one asks the store."""

    def __init__(self, project: ProjectStore | None, settings: Settings, *, dry_run: bool) -> None:
        """Take None for a project that does not exist, in a dry run."""
        self.outcome = Outcome()
        self._project = project
        self._settings = settings
        self._dry_run = dry_run
        self._pages: dict[bytes, _Known] = {}
        self._items: dict[bytes, _Items] = {}

    def take(self, found: Iterable[Found]) -> None:
        """Put pages into the store, in the order in which they come.

        Raises:
            SeedError: reading failed; what was read before is in the store.
            StoreError: the store failed; likewise.
        """
        for pages in _in_lots(self._counted(found)):
            self._take([(page, one) for page in pages if (one := self._prepared(page))])

    def _counted(self, found: Iterable[Found]) -> Iterator[FoundPage]:
        for one in found:
            self.outcome.read += 1
            if isinstance(one, FoundPage):
                yield one
            elif isinstance(one, NoPage):
                self.outcome.no_page += 1
            else:
                self._complain(one)

    def _complain(self, about: Unreadable) -> None:
        self.outcome.unreadable += 1
        if len(self.outcome.examples) < _EXAMPLES:
            self.outcome.examples.append(about)

    def _prepared(self, page: FoundPage) -> Prepared | None:
        prepared = prepare(page, self._settings)
        if isinstance(prepared, Unreadable):
            self._complain(prepared)
            return None
        return prepared

    def _take(self, lot: list[tuple[FoundPage, Prepared]]) -> None:
        self._learn({prepared.document.page_key for _, prepared in lot})
        records = list(chain.from_iterable(self._records(page, prepared) for page, prepared in lot))
        if self._project is not None and not self._dry_run:
            self._project.write(records)
            # From now on the store tells.
            self._pages.clear()
            self._items.clear()

    def _learn(self, keys: set[bytes]) -> None:
        """Ask the store about pages that we know nothing of."""
        asked = keys - self._pages.keys()
        if self._project is None or not asked:
            return
        for key, state in self._project.page_states(asked).items():
            content = state.content_hash or NO_CONTENT
            self._pages[key] = _Known(
                state.last_seen_at,
                None if state.content_hash is None and state.blocks is None else content,
                state.visits_count,
                state.changes_count,
                content if seeded_memo_key(key, content) in state.memo_keys else None,
            )
        for key, document_key in self._project.document_keys(asked - self._pages.keys()).items():
            if document_key not in (None, key):
                self._pages[key] = _Known()

    def _records(self, page: FoundPage, prepared: Prepared) -> list[Record]:
        """Return what is to be written of a page, and count it."""
        key = prepared.document.page_key
        known = self._pages.get(key)
        records: list[Record] = []
        taken = known is None or _is_news(prepared, page.at, known)
        if taken:
            known = self._replace(prepared, page.at, known)
            records += prepared.records(
                replace(prepared.document, visits_count=known.visits, changes_count=known.changes)
            )
            self.outcome.seeded += 1
            self.outcome.comparable += known.content is not None
        assert known is not None
        items = self._join(page, prepared, known, taken=taken)
        if items is not None:
            records.append(extraction(prepared.document, known.content or NO_CONTENT, items.kept, items.at))
        self.outcome.joined += not taken and items is not None
        self.outcome.known += not taken and items is None
        return records

    def _replace(self, prepared: Prepared, at: datetime, known: _Known | None) -> _Known:
        """Return what is known of a page from now on."""
        content, before = prepared.content_hash, known or _Known()
        stays = before.content in (None, content)
        now = _Known(at, content, before.visits + 1, before.changes + (not stays))
        # What an item's URL alone said is said of the page that is known now.
        now.held_under = before.held_under if stays else None
        self._pages[prepared.document.page_key] = now
        return now

    def _join(self, page: FoundPage, prepared: Prepared, known: _Known, *, taken: bool) -> _Items | None:
        """Return the items of a page where they are others than before, or the page is."""
        kept = self._kept(page.item)
        of_this = prepared.content_hash in (None, known.content)
        if not of_this or not (taken or known.held_under is not None):
            return None
        held = self._held(prepared.document.page_key, known)
        joined = _joined(held, kept, page.at)
        if joined is held and not taken:
            return None
        known.held_under = known.content or NO_CONTENT
        self._items[prepared.document.page_key] = joined
        return joined

    def _kept(self, item: Mapping[str, Any] | None) -> Any:
        kept = kept_item(item) if item is not None else None
        if isinstance(kept, Unkeepable):
            self.outcome.items_left += 1
            return None
        return kept if kept is None or not self._dry_run else _digest(kept)

    def _held(self, key: bytes, known: _Known) -> _Items | None:
        """Return the items that a page has."""
        if known.held_under is None:
            return None
        if key in self._items or self._project is None:
            return self._items.get(key)
        stored = self._project.extraction(seeded_memo_key(key, known.held_under))
        if stored is None:
            return None
        kept: Sequence[Any] | None = stored.items
        if kept is not None and self._dry_run:
            kept = [_digest(one) for one in kept]
        return _Items(stored.created_at, None if kept is None else list(kept))


def _is_news(prepared: Prepared, at: datetime, known: _Known) -> bool:
    """Say whether a page is a later version of the one that is known, or the first whose text is."""
    if known.at is None or prepared.source is None:
        return False
    if prepared.content_hash is None:
        return known.content is None and at > known.at
    return known.content is None or (at >= known.at and prepared.content_hash != known.content)


def _joined(held: _Items | None, kept: Any, at: datetime) -> _Items:
    """Return a page's items with one more; what a later crawl gave takes the place of what was there."""
    if held is None:
        return _Items(at, None if kept is None else [kept])
    if kept is None or (held.kept is not None and (at < held.at or (at == held.at and kept in held.kept))):
        return held
    if held.kept is None or at > held.at:
        return _Items(at, [kept])
    return _Items(at, [*held.kept, kept])


def _digest(kept: Mapping[str, Any]) -> bytes:
    return blake2b(to_json(kept).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _in_lots(pages: Iterable[FoundPage]) -> Iterator[list[FoundPage]]:
    lot: list[FoundPage] = []
    chars = 0
    for page in pages:
        lot.append(page)
        chars += page.chars
        if len(lot) >= _PAGES_AT_ONCE or chars >= _CHARS_AT_ONCE:
            yield lot
            lot, chars = [], 0
    if lot:
        yield lot
