"""Whether what the cache holds is what was stored: everything unpacked once, and compared with its hashes."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from scrapy_dedup.core import keeping
from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.core.keeping import DamagedValueError
from scrapy_dedup.core.repeats import Boilerplate
from scrapy_dedup.service.cache_export import Progress, iterate_pages
from scrapy_dedup.service.reading import read_again
from scrapy_dedup.service.removals import removals_in
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.cache_reads import CacheRepairs, PackedPage
from scrapy_dedup.store.errors import DamagedError
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredSource
from scrapy_dedup.store.stored_visits import ExtractionChoice
from scrapy_dedup.store.writer import ProjectStore

Part = Literal["extraction", "original", "text", "blocks", "decisions"]

_HASH_BYTES: Final = 32
_MOST_TOLD: Final = 200
_FIXED_AT_ONCE: Final = 200
_FORMS: Final = ("markdown", "text", "html")


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a page that is not what was stored.

    Attributes:
        memo_key: of the extraction; empty for other parts.
    """

    page_key: bytes
    url: str
    part: Part
    reason: str
    memo_key: bytes = b""


@dataclass(slots=True)
class Check:
    """What was looked at, and what is wrong with it.

    Attributes:
        pages: that were seen.
        extractions: of these pages.
        damaged: by part.
        damages: the first of them.
        fixed: the damaged parts are deleted, and their pages come again.
    """

    pages: int = 0
    extractions: int = 0
    damaged: Counter[Part] = field(default_factory=Counter)
    damages: list[Damage] = field(default_factory=list)
    fixed: bool = False


def check_cache(
    store: Store,
    project: ProjectStore,
    settings: Settings,
    progress: Progress = lambda _pages: None,
    *,
    fix: bool = False,
) -> Check:
    """Unpack every extraction and original of the pages that were seen, and compare texts with their hashes.

    Args:
        store: to check.
        project: to check.
        settings: of the crawls.
        progress: is told of pages.
        fix: delete what is damaged. A page of which anything but an extraction is damaged loses all extractions: the
            next crawl fetches it whole and runs its callback.

    Raises:
        StoreError: the store failed.
    """
    check, waiting = Check(fixed=fix), list[Damage]()
    for page in iterate_pages(store, project):
        found = list(_damages(page, settings))
        check.pages += 1
        check.extractions += len(page.memo_keys)
        check.damaged.update(one.part for one in found)
        check.damages += found[: _MOST_TOLD - len(check.damages)]
        waiting += found if fix else ()
        if len(waiting) >= _FIXED_AT_ONCE:
            _fix(store, project, waiting)
        progress(1)
    _fix(store, project, waiting)
    return check


def _damages(page: PackedPage, settings: Settings) -> Iterator[Damage]:
    key, url = page.document.page_key, page.document.url
    for place, memo_key in enumerate(page.memo_keys):
        if reason := _reason(lambda place=place: _check_extraction(page, place)):  # type: ignore[misc]
            yield Damage(key, url, "extraction", reason, memo_key)
    if reason := _reason(page.blocks):
        yield Damage(key, url, "blocks", reason)
    if reason := _reason(page.decisions):
        yield Damage(key, url, "decisions", reason)
        return
    if reason := _reason(page.source):
        yield Damage(key, url, "original", reason)
    elif not _fits(page, settings):
        yield Damage(key, url, "text", "the cleaned text is not that of its content hash")


def _reason(read: Callable[[], object]) -> str | None:
    """Return why something cannot be read, None where it can."""
    try:
        read()
    except (DamagedError, DamagedValueError) as error:
        return str(error)
    return None


def _check_extraction(page: PackedPage, place: int) -> None:
    """Read an extraction as a replay would."""
    extraction = page.extraction(place)
    keeping.decode(extraction.cb_kwargs)  # type: ignore[arg-type]
    for entry in (*extraction.requests, *(extraction.items or ())):
        if isinstance(entry, dict):
            keeping.decode(entry.get("request") or entry.get("fields"))


def _fits(page: PackedPage, settings: Settings) -> bool:
    """Return whether the cleaned text is what was seen, or what `scrapy dedup analyze` left of the original since."""
    source, expected = page.source(), page.document.content_hash
    if source is None or source.cleaned_content is None or expected is None or len(expected) != _HASH_BYTES:
        return True
    found = content_hash(source.cleaned_content)
    return found == expected or found in _cut_again(page, source, settings)


def _cut_again(page: PackedPage, source: StoredSource, settings: Settings) -> Iterator[bytes]:
    """Yield hashes of the original without the blocks that were removed of it."""
    removals = {key: one for decision in page.decisions() for key, one in removals_in(decision).items()}
    of_pages = max((one.rule.of_pages for one in removals.values()), default=0)
    boilerplate = Boilerplate(of_pages, {key: one.rule.on_pages for key, one in removals.items()})
    for method in ("html", "text"):
        for form in _FORMS:
            chosen = settings.override({"output": form, "boilerplate_method": method}, "")
            reading = read_again(source, chosen)
            if reading is not None:
                yield content_hash(reading.clean(boilerplate, chosen).content)


def _fix(store: Store, project: ProjectStore, damages: list[Damage]) -> None:
    """Delete what is damaged, and the extractions that would spare its page the callback."""
    if not damages:
        return
    pages = {part: {one.page_key for one in damages if one.part == part} for part in _PARTS}
    with store.session() as session:
        repairs = CacheRepairs(session, project.id)
        repairs.drop_originals(pages["original"] | pages["text"])
        repairs.drop_blocks(pages["blocks"])
        repairs.drop_decisions(pages["decisions"])
        session.commit()
    again = {one.page_key for one in damages if one.part != "extraction"}
    project.delete_extractions(ExtractionChoice(page_keys=again), dry_run=False)
    memo_keys = {one.memo_key for one in damages if one.memo_key}
    project.delete_extractions(ExtractionChoice(memo_keys=memo_keys), dry_run=False)
    damages.clear()


_PARTS: Final[tuple[Part, ...]] = ("extraction", "original", "text", "blocks", "decisions")
