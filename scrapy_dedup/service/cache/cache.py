"""The cache of a project: what it spared, whether it is sound, and what a person has done again or deletes.

Whatever reads or writes the store raises StoreError where that fails.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field

from scrapy_dedup.core.domains import checked_domain
from scrapy_dedup.core.pages.fingerprints import content_hash
from scrapy_dedup.core.recrawl import values as keeping
from scrapy_dedup.core.recrawl.values import DamagedValueError
from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.lists import some_pages
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.records.stored import ExtractionChoice, ExtractionFigures, StoredRun, StoredSource
from scrapy_dedup.store.upkeep.cache import CachedPage, MemoFigures, StoredCache, StoredMemos, Traffic
from scrapy_dedup.store.writer import ProjectStore

Part = Literal["extraction", "original", "text", "blocks"]
Progress = Callable[[int], None]
"""Is told of so many more pages, or files."""

# SHA-256; hashes of documents that were cut by an earlier version are shorter.
_HASH_BYTES: Final = 32
_MOST_TOLD: Final = 200
_FIXED_AT_ONCE: Final = 200
_FORMS: Final = ("markdown", "text", "html")
_WORD: Final = re.compile(r"[^\W_]+")


class DomainCache(Struct, frozen=True):
    """What coming again spared on a domain.

    Attributes:
        hits: visits that were answered without their callback.
        misses: visits whose callback ran.
        not_modified: visits of which the site said that nothing changed (304).
        bytes_saved: by which those and hits cost less than the domain's visits with a callback do on average.
        extractions: that are held, in so many packed bytes.
    """

    domain: str
    visits: int = 0
    hits: int = 0
    misses: int = 0
    not_modified: int = 0
    bytes_received: int = 0
    bytes_saved: int = 0
    extractions: int = 0
    packed_bytes: int = 0

    @property
    def hit_rate(self) -> float:
        """Share of the visits that were hits, 0.0 to 1.0."""
        return self.hits / self.visits if self.visits else 0.0


class CacheStats(Struct, frozen=True):
    """What coming again spared; of all visits that are kept where run is None."""

    project: str
    run: StoredRun | None
    domains: tuple[DomainCache, ...]
    total: DomainCache
    memos: MemoFigures


def cache_stats(project: ProjectStore) -> CacheStats:
    """Return what the last run spared, by domain in alphabetical order."""
    run = next(iter(project.last_runs(1)), None)
    domains = spared(StoredCache(project), run, project.extraction_figures())
    return CacheStats(project.name, run, domains, total_of(domains), StoredMemos(project).figures())


def spared(
    cache: StoredCache, run: StoredRun | None, extractions: Mapping[str, ExtractionFigures]
) -> tuple[DomainCache, ...]:
    """Return what a run spared on each domain that it visited, or that has extractions."""
    whole = _by_domain(cache.traffic())
    of_run = whole if run is None else _by_domain(cache.traffic(run.id))
    return tuple(
        _domain(domain, of_run[domain], whole[domain], extractions.get(domain, ExtractionFigures(0, 0)))
        for domain in sorted({*of_run, *extractions})
    )


def _by_domain(traffic: Iterable[Traffic]) -> dict[str, list[Traffic]]:
    found = defaultdict[str, list[Traffic]](list)
    for one in traffic:
        found[one.domain].append(one)
    return found


def _domain(domain: str, some: list[Traffic], whole: list[Traffic], held: ExtractionFigures) -> DomainCache:
    hits = [one for one in some if not one.callback_run and one.verdict == "unchanged"]
    # What was received whole, although its callback was spared, saved no bytes; a 304 does, whatever runs on it.
    not_modified = [one for one in some if one.fetched == "304"]
    small = not_modified + [one for one in hits if one.fetched not in ("get", "304")]
    full = [one for one in whole if one.callback_run and one.fetched == "get"]
    bytes_each = sum(one.bytes_received for one in full) / (sum(one.visits for one in full) or 1)
    return DomainCache(
        domain=domain,
        visits=sum(one.visits for one in some),
        hits=sum(one.visits for one in hits),
        misses=sum(one.visits for one in some if one.callback_run),
        not_modified=sum(one.visits for one in not_modified),
        bytes_received=sum(one.bytes_received for one in some),
        bytes_saved=round(max(0.0, sum(one.visits * bytes_each - one.bytes_received for one in small))),
        extractions=held.extractions,
        packed_bytes=held.packed_bytes,
    )


def total_of(domains: Iterable[DomainCache]) -> DomainCache:
    """Return the sums over domains."""
    domains = list(domains)
    names = [name for name in DomainCache.__struct_fields__ if name != "domain"]
    return DomainCache("", **{name: sum(getattr(one, name) for one in domains) for name in names})


class CacheRemoval(Struct, frozen=True):
    """Extractions and memos that were deleted, or would be, and URLs or a domain of which there is no page."""

    extractions: int
    packed_bytes: int
    dry_run: bool
    memos: int = 0
    unknown: tuple[str, ...] = ()


def invalidate(
    project: ProjectStore, settings: Settings, *, urls: Collection[str] | None, domain: str | None, dry_run: bool
) -> CacheRemoval:
    """Delete the extractions of pages, named by any of their URLs; or of all pages of a domain; or, with neither, all.

    Raises:
        UrlError: one is no URL of a page; then nothing is deleted.
        DomainNameError: the domain is none.
    """
    if urls is not None:
        keys = {keys_of(url, settings).page_key: url for url in urls}
        known = project.document_keys(keys)
        pages = {key: known.get(key) or key for key in keys}
        unknown = [url for key, url in keys.items() if key not in known and not project.extractions_of(pages[key])]
        return remove(project, ExtractionChoice(page_keys=set(pages.values())), dry_run=dry_run, unknown=unknown)
    if domain is None:
        return remove(project, ExtractionChoice(), dry_run=dry_run)
    name = checked_domain(domain, settings.domain_scope)
    with project.transaction() as connection:
        is_known = bool(some_pages(connection, project.id, name, 1))
    return remove(project, ExtractionChoice(domain=name), dry_run=dry_run, unknown=() if is_known else (domain,))


def remove(
    project: ProjectStore, choice: ExtractionChoice, *, dry_run: bool, unknown: Iterable[str] = ()
) -> CacheRemoval:
    """Delete the chosen extractions, and memos where they are chosen by nothing but their age."""
    found, memos = project.delete_extractions(choice, dry_run=dry_run), MemoFigures(0, 0)
    if choice == ExtractionChoice(created_before=choice.created_before):
        memos = StoredMemos(project).remove(choice.created_before, dry_run=dry_run)
    return CacheRemoval(found.extractions, found.packed_bytes + memos.size_bytes, dry_run, memos.memos, tuple(unknown))


class CacheDamage(Struct, frozen=True):
    """A part of a page that is not what was stored; memo_key names an extraction."""

    page_key: bytes
    url: str
    part: Part
    reason: str
    memo_key: bytes = b""


class CacheCheck(Struct):
    """What was looked at, and what is wrong with it: how much by part, and the first damages.

    Attributes:
        fixed: the damaged parts are deleted, and their pages come again.
    """

    pages: int = 0
    extractions: int = 0
    damaged: Counter[Part] = field(default_factory=Counter)
    damages: list[CacheDamage] = field(default_factory=list)
    fixed: bool = False


def verify(project: ProjectStore, settings: Settings, progress: Progress, *, fix: bool = False) -> CacheCheck:
    """Unpack every extraction and original of the pages that were seen, and compare texts with their hashes.

    To fix is to delete what is damaged. A page of which anything but an extraction is damaged loses all extractions:
    the next crawl fetches it whole and runs its callback.
    """
    cache, check, waiting = StoredCache(project), CacheCheck(fixed=fix), list[CacheDamage]()
    for page in cache.iterate_pages():
        found = list(_damages(page, settings))
        check.pages += 1
        check.extractions += len(page.memo_keys)
        check.damaged.update(one.part for one in found)
        check.damages += found[: _MOST_TOLD - len(check.damages)]
        waiting += found if fix else ()
        if len(waiting) >= _FIXED_AT_ONCE:
            _fix(cache, project, waiting)
        progress(1)
    _fix(cache, project, waiting)
    return check


def check_outcome(cb_kwargs: Any, requests: Iterable[Any], items: Iterable[Any] | None) -> None:
    """Read what a callback gave as a crawl would.

    Raises:
        DamagedValueError: it is nothing that a crawl keeps.
    """
    keeping.decode(cb_kwargs)
    items = list(items or ())
    for entry in requests:
        match entry:
            case int() as place if 0 <= place < len(items):
                pass
            case {"request": kept}:
                keeping.decode(kept)
            case {"unkeepable": str()}:
                pass
            case [str() | None, str() | None, *urls] if all(isinstance(url, str) for url in urls):
                pass
            case _:
                raise DamagedValueError("a kept request is none")
    for item in items:
        match item:
            case {"class": str(), "fields": dict() as kept}:
                keeping.decode(kept)
            case _:
                raise DamagedValueError("a kept item is none")


def _damages(page: CachedPage, settings: Settings) -> Iterator[CacheDamage]:
    key, url = page.document.page_key, page.document.url
    for place, memo_key in enumerate(page.memo_keys):
        if reason := _reason(lambda place=place: _check_extraction(page, place)):  # type: ignore[misc]
            yield CacheDamage(key, url, "extraction", reason, memo_key)
    if reason := _reason(page.blocks):
        yield CacheDamage(key, url, "blocks", reason)
    if reason := _reason(page.source):
        yield CacheDamage(key, url, "original", reason)
    elif reason := _reason(lambda: _check_text(page, settings)):
        yield CacheDamage(key, url, "text", reason)


def _reason(read: Callable[[], object]) -> str | None:
    """Return why something cannot be read, None where it can."""
    try:
        read()
    except (DamagedError, DamagedValueError) as error:
        return str(error)
    return None


def _check_extraction(page: CachedPage, place: int) -> None:
    held = page.extraction(place)
    check_outcome(held.cb_kwargs, held.requests, held.items)


def _check_text(page: CachedPage, settings: Settings) -> None:
    """Refuse a cleaned text that is not what was seen, and has words that its original does not have.

    `scrapy dedup templates analyze` leaves another text, by whatever was set then; all of its words are the page's own.
    """
    source, expected = page.source(), page.document.content_hash
    if source is None or source.cleaned_content is None or expected is None or len(expected) != _HASH_BYTES:
        return
    if content_hash(source.cleaned_content) == expected:
        return
    words = _words_of(source, settings)
    strange = set(_WORD.findall(source.cleaned_content)) - words
    if strange:
        strange = _not_cut_from(words, strange)
    if strange:
        raise DamagedError(
            f"the cleaned text is not that of its content hash, and {min(strange)[:50]!r} not the page's"
        )


def _not_cut_from(words: set[str], strange: set[str]) -> set[str]:
    """Return the words that no expression can have left: neither a part of one nor the beginning of one and an end."""
    whole = " ".join(sorted(words))
    begins = {word[:at] for word in words for at in range(len(word))}
    ends = {word[at:] for word in words for at in range(1, len(word) + 1)}
    return {
        word
        for word in strange
        if word not in whole and not any(word[:at] in begins and word[at:] in ends for at in range(1, len(word)))
    }


def _words_of(source: StoredSource, settings: Settings) -> set[str]:
    """Return the words of an original as it reads in any form, with those of its address."""
    words = set(_WORD.findall(source.url))
    for form in _FORMS:
        reading = read_again(source, settings.override({"output": form, "boilerplate_method": "text"}, ""))
        if reading is not None:
            words.update(_WORD.findall(reading.text))
    return words


def _fix(cache: StoredCache, project: ProjectStore, damages: list[CacheDamage]) -> None:
    """Delete what is damaged, and the extractions that would spare its page the callback."""
    if not damages:
        return
    originals = {one.page_key for one in damages if one.part in ("original", "text")}
    blocks = {one.page_key for one in damages if one.part == "blocks"}
    cache.drop(originals, blocks)
    project.delete_extractions(ExtractionChoice(page_keys=originals | blocks), dry_run=False)
    memo_keys = {one.memo_key for one in damages if one.memo_key}
    project.delete_extractions(ExtractionChoice(memo_keys=memo_keys), dry_run=False)
    damages.clear()
