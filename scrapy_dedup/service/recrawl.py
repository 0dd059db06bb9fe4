"""What is known of a page before it is asked for, what a visit comes to, and which pages are removed.

And what a run knows of its own pages: what their items were at the last visit, which the delta feed leaves out.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from msgspec import Struct, field

from scrapy_dedup.core.boilerplate.repeats import PageCounts, RepeatPolicy
from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.core.duplicates import ITEM_BYTES, pack_fields, unpack_fields
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.declared import Directives
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.recrawl.plan import GONE, Fetch, PageState, Revalidate, Skip, says_unchanged
from scrapy_dedup.core.recrawl.verdicts import (
    NEW,
    NO_FRAME,
    Change,
    ChangePolicy,
    Frame,
    MainText,
    Repeats,
    Verdict,
    VerdictKind,
    compare,
    main_text,
    repeats_of,
    same_blocks,
    unified_diff,
    verdict_of,
)
from scrapy_dedup.core.runs import Lead, Unfound, missed
from scrapy_dedup.core.urls.seen import KeyTable, Latest
from scrapy_dedup.service.learning import Steps
from scrapy_dedup.service.templates.site_knowledge import REST
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import DamagedStoreError
from scrapy_dedup.store.pages.contents import HeldText
from scrapy_dedup.store.records.records import (
    DeliveryRecord,
    ExtractionRecord,
    Fetched,
    GoneRecord,
    Record,
    ResponseRecord,
    ValidatorRecord,
    VisitRecord,
)
from scrapy_dedup.store.records.stored import MissedPage, Run, StoredState
from scrapy_dedup.store.writer import HeldPages, ProjectStore

T = TypeVar("T")

_KINDS: Final = tuple(VerdictKind)
# Beside its kind, in the number of a page.
_READ: Final = 1 << len(_KINDS).bit_length()


class PagesMet(KeyTable):
    """Pages that a run has received, or that what is held stands for, and what they were."""

    def __init__(self) -> None:
        super().__init__("B")
        self.redirected = KeyTable("B")
        """Keys of pages that led elsewhere."""

    def __setitem__(self, key: bytes, kind: VerdictKind) -> None:
        """Note what a page was."""
        self.put(key, _KINDS.index(kind) | ((self.get(key) or 0) & _READ))

    def kind_of(self, key: bytes) -> VerdictKind | None:
        """Return what a page was; None where it was not met."""
        number = self.get(key)
        return _KINDS[number & ~_READ] if number is not None else None

    def note_read(self, key: bytes) -> None:
        """Note of a page that was met that its callback came to its end: all that it links to is asked for."""
        number = self.get(key)
        if number is not None:
            self.put(key, number | _READ)

    def was_read(self, key: bytes) -> bool:
        """Say whether a page was met and read to its end."""
        return bool((self.get(key) or 0) & _READ)


_KEY_BYTES: Final = 16
# Of some 600 bytes each, and 120 for each of their items: of pages with a hundred items 67 MB.
_MOST_GIVEN: Final = 5_000
# Written anew with each visit.
_MOST_ITEMS: Final = 4_000


class Earlier(Struct):
    """Items of a page's last visit, as far as they may be left out now."""

    items: Counter[bytes] = field(default_factory=Counter)
    """That did not come yet."""
    left_out: Mapping[bytes, bytes] = field(default_factory=dict)
    """Of those that were left out for another page's item: that page."""
    keepers: Mapping[bytes, frozenset[bytes]] = field(default_factory=dict)
    """The fields of the items that each of these pages gave at its last visit before this run; none that is over."""
    at: datetime | None = None
    """When that visit was; None: there was none."""

    def stays_left_out(self, keeper: bytes, fields: bytes | None, now: Collection[bytes] | None) -> bool:
        """Say whether another page's item stands for an item still.

        *fields* None: they equal no other's; *now* are those of the items that the keeper gave in this run, None: none
        yet.
        """
        before = self.keepers.get(keeper)
        return before is not None and fields in (before if now is None else now)

    def knows(self, state: StoredState | None) -> bool:
        """Say whether a page has been as it is stored since that visit: another spider may have met a change first."""
        changed_at = state.last_changed_at if state is not None else None
        return self.at is None or changed_at is None or changed_at <= self.at


class Delivered(Struct):
    """What stands for a visit's items, as they came to the pipeline."""

    items: list[bytes] = field(default_factory=list)
    fields: set[bytes] = field(default_factory=set)
    """Their own, by which items of other pages equal them."""
    left_out: dict[bytes, bytes] = field(default_factory=dict)
    """Items that another page's stands for, and that page."""
    as_at: datetime | None = None
    """When that was found, where an earlier run did: that page may have changed in this one and not be met yet."""

    def was_dropped(self, stands: bytes | None) -> None:
        """Forget an item that a later pipeline dropped: the next visit gives it again."""
        if stands in self.items:
            self.items.remove(stands)

    def packed(self) -> tuple[bytes, bytes, bytes]:
        """Return items, fields and what was left out, as a `DeliveryRecord` has them."""
        pairs = (pack_fields([item]) + keeper for item, keeper in sorted(self.left_out.items()))
        return pack_fields(sorted(self.items)), pack_fields(sorted(self.fields)), b"".join(pairs)


class Given(Struct):
    """What all visits of a page gave a callback in this run, as far as they are over."""

    earlier: Earlier | None = None
    """What those of the last run gave and did not come yet; None: nobody has asked."""
    items: bytes = b""
    fields: bytes = b""
    left_out: bytes = b""
    waits_for: frozenset[Any] = frozenset()
    """What must happen before all of it is safe."""

    def add(self, delivered: Delivered, waits_for: Iterable[Any]) -> None:
        """Add what a visit gave; of a page that is polled without an end what its last visits gave."""
        if len(self.items) > ITEM_BYTES * _MOST_ITEMS:
            self.items = self.fields = self.left_out = b""
            self.waits_for = frozenset()
        items, fields, left_out = delivered.packed()
        self.items += items
        self.fields = fields if not self.fields else pack_fields(sorted({*unpack_fields(self.fields + fields)}))
        self.left_out += left_out
        self.waits_for = self.waits_for.union(waits_for)

    def record(self, page_key: bytes, giver: bytes, domain: str, at: datetime) -> DeliveryRecord:
        """Return what is written of it."""
        return DeliveryRecord(page_key, giver, domain, at, self.items, self.fields, self.left_out)


class GivenPages:
    """What the last pages of this run gave: one may be visited several times, and the next run is beside all of them.

    Of a page that is forgotten its last visit counts.
    """

    def __init__(self, most: int = _MOST_GIVEN) -> None:
        self._pages: Latest[tuple[bytes, bytes], Given] = Latest(most)

    def of(self, page_key: bytes, giver: bytes) -> Given:
        """Return what a callback was given by a page, to be added to."""
        given = self._pages.setdefault((page_key, giver), Given())
        self._pages.move_to_end((page_key, giver))
        return given


class Recall(Struct, frozen=True):
    """Reads what the last visits of pages gave. Blocks, so call it in a thread."""

    store: ProjectStore
    met: PagesMet
    departed: Collection[bytes]

    def earlier(self, page_key: bytes, giver: bytes) -> Earlier:
        """Return what the last visit of a page gave; *giver* is whose callback it is.

        Raises:
            StoreError: the store failed.
        """
        last = self.store.deliveries(page_key).get(giver)
        if last is None:
            return Earlier()
        left_out = dict(_pairs(last.left_out))
        keepers = {}
        for key in sorted(set(left_out.values())):
            if not self._is_over(page_key, key, last.at):
                given = self.store.deliveries(key)
                # By another callback, where it is not this one's page.
                some = [given[giver]] if giver in given else given.values()
                keepers[key] = frozenset(one for delivery in some for one in unpack_fields(delivery.fields))
        return Earlier(Counter(unpack_fields(last.items)), left_out, keepers, last.at)

    def _is_over(self, alias: bytes, keeper: bytes, since: datetime) -> bool:
        """Say whether a page that stood for another is gone, redirects, was removed, or is another one since then."""
        passed, key = {alias}, keeper
        # One that was left out itself stands for what it was left out for.
        while key not in passed:
            passed.add(key)
            found = self.store.page_states([key]).get(key)
            if found is None or found.gone_at is not None or found.http_status in GONE or key in self.departed:
                return True
            was_changed = found.last_changed_at is not None and found.last_changed_at > since
            if was_changed or found.alias_kind == "redirect" or self.met.kind_of(key) is VerdictKind.CHANGED:
                return True
            key = found.document_key or key
        return False


def _pairs(packed: bytes) -> Iterable[tuple[bytes, bytes]]:
    """Return items that were left out, with the keys of the pages that stand for them."""
    size = ITEM_BYTES + _KEY_BYTES
    for start in range(0, len(packed), size):
        (item,) = unpack_fields(packed[start : start + ITEM_BYTES])
        yield item, packed[start + ITEM_BYTES : start + size]


BACK = Verdict(VerdictKind.NEW, Change.NONE, "back after it was removed")
FIRST_VERSION = Verdict(VerdictKind.UNCHANGED, Change.NONE, "known from elsewhere; this is the first version seen here")
SERVER_SAYS_SO = Verdict(VerdictKind.UNCHANGED, Change.NONE, "the server says so (304)")
NOT_KEPT = Verdict(VerdictKind.CHANGED, Change.CONTENT, "blocks differ, and the older version was not kept")
SAME_BYTES = Verdict(VerdictKind.UNCHANGED, Change.NONE, "the bytes are the same")
OTHER_BYTES = Verdict(VerdictKind.CHANGED, Change.CONTENT, "the bytes differ")


def wire_key(url: str) -> bytes:
    """Return by what an answer is held: the URL as it is sent."""
    return parts_hash(url.encode("utf-8", "surrogatepass"))


class AskedPage(Struct, frozen=True):
    """What is asked of the store about a request."""

    page_key: bytes
    wire_key: bytes = b""
    """Empty where an answer that is held cannot be used."""
    outcome_key: bytes = b""
    """Empty where no outcome may stand in for the callback."""
    with_chunks: bool = False
    """What became of the page's chunks is wanted, too."""


class KnownPage(Struct, frozen=True):
    """What the store holds of a request's page."""

    state: StoredState | None = None
    answer: ResponseRecord | None = None
    """The last answer to the URL."""
    text: HeldText | None = None
    """What was cut from the page."""
    chunks: Sequence[StoredChunk] = ()
    """What became of its chunks, where its text is known."""
    outcome: ExtractionRecord | None = None
    """What the callback made of it."""
    damaged: int = 0
    """What was there and could not be read."""


NOTHING_KNOWN = KnownPage()


def look_up(store: ProjectStore, asked: Collection[AskedPage]) -> dict[AskedPage, KnownPage]:
    """Return what is known of some requests' pages; blocks, so call it in a thread."""
    keys = {one.page_key for one in asked}
    wires = {one.wire_key for one in asked if one.wire_key}
    held = store.held(keys, wires, {one.page_key for one in asked if one.with_chunks})
    return {one: _known(store, one, held) for one in asked}


def _known(store: ProjectStore, asked: AskedPage, held: HeldPages) -> KnownPage:
    answers = held.answers
    damaged = int(asked.wire_key in answers and answers[asked.wire_key] is None)
    outcome = None
    if asked.outcome_key:
        try:
            outcome = store.extraction(asked.outcome_key)
        except DamagedStoreError:
            damaged += 1
    key = asked.page_key
    answer, chunks = answers.get(asked.wire_key), held.chunks.get(key, ())
    return KnownPage(held.states.get(key), answer, held.texts.get(key), chunks, outcome, damaged)


def page_state(known: KnownPage) -> PageState | None:
    """Return what `core.recrawl.plan` wants to know of a page; None where no answer to it is known."""
    state, answer = known.state, known.answer
    if answer is None:
        if state is None or state.http_status not in GONE:
            return None
        return PageState(at=state.last_crawled_at or state.last_seen_at, status=state.http_status or GONE[0])
    at, status = answer.validated_at, 200
    if state is not None and state.last_crawled_at is not None and state.last_crawled_at > at:
        # A visit after the last answer that is held, and no status: the fetch failed.
        at, status = state.last_crawled_at, state.http_status or 0
    interval = state.interval_seconds if state is not None else None
    return PageState(
        at=at,
        status=status,
        etag=answer.etag,
        last_modified=answer.last_modified,
        validated_at=answer.received_at,
        interval=None if interval is None else timedelta(seconds=interval),
        lastmod=state.lastmod if state is not None else None,
    )


class FetchPlan(Struct, eq=False):
    """What is done about a request, and what came of it."""

    page_key: bytes
    known: KnownPage
    decision: Fetch | Revalidate | Skip
    is_refresh: bool = False
    lastmod: datetime | None = None
    began: float = 0.0
    """Seconds on a clock that only goes forward."""
    own_cookies: bool = False
    """The spider set cookies, or logs in."""
    is_sent: bool = False
    """It went to the server: no middleware answered it."""
    asked_if: bool = False
    """It was asked for only if it had changed."""
    fetched: Fetched = "get"
    """How it came; what did not come over the wire is what is held."""
    outcome_key: bytes = b""
    is_audited: bool = False
    """It is fetched and extracted to be compared with what is kept."""


def was_met(known: KnownPage, run: Run, shared_since: datetime | None) -> bool:
    """Say whether another part of the run had an answer to a page: another worker, or this crawl before it was resumed.

    Args:
        known: of the page.
        run: of the crawl.
        shared_since: when it began, if workers share it: their pages may not be acknowledged yet.
    """
    state, answer = known.state, known.answer
    if shared_since is None:
        return run.resumed and state is not None and state.run_id == run.id
    times = (
        answer.validated_at if answer is not None else None,
        state.last_seen_at if state is not None else None,
        state.last_crawled_at if state is not None else None,
    )
    return any(at is not None and at >= shared_since for at in times)


class Judgement(Struct):
    """What a visit of a page comes to, beside the last one."""

    known: KnownPage
    verdict: Verdict = NEW
    fetched: Fetched = "get"
    etag: str | None = None
    last_modified: str | None = None
    lastmod: datetime | None = None
    blocks: bytes | None = None
    content: bytes | None = None
    """Hash of what is no page of HTML."""
    diff: str = ""
    directives: Directives = field(default_factory=Directives)
    depth: int | None = None
    parent: bytes | None = None
    """Key of the page that led to it; None: none did, or it is not known."""
    bytes_received: int = 0
    began: float = 0.0
    duplicate_of: bytes | None = None
    """Key of the page that has its content, and whose items stand for it."""
    duplicate_by: str = "canonical"
    """The layer that found that page."""
    body: bytes | None = None
    """Hash of the response's body as the spider sees it."""
    replays: bool = False
    """A kept outcome is given in place of the callback."""
    is_written_over: bool = False
    """An earlier visit of this run found another version, which stands where that of the last run stood."""
    is_shadow: bool = False
    """It is only noted: the page goes out as if nobody had compared it."""
    changed_at: datetime | None = None
    """When an earlier visit of this run found the same new version; None: none did."""

    @property
    def is_unchanged(self) -> bool:
        """Whether the last run's version stands."""
        return self.verdict.kind is VerdictKind.UNCHANGED

    @property
    def is_stored(self) -> bool:
        """Whether that version is in the store."""
        stands = self.is_unchanged and not self.is_written_over
        state = self.known.state
        return stands and state is not None and state.content_hash is not None


def word_kept(plan: FetchPlan, judgement: Judgement) -> ValidatorRecord | None:
    """Return by how much a visit adds to what a site's validators and dates are worth; None where it says nothing."""
    state = judgement.known.state
    before = page_state(plan.known)
    if state is None or before is None or judgement.fetched == "skip":
        # What was not asked for proves nothing.
        return None
    unchanged, whole, conditional = judgement.is_unchanged, judgement.fetched == "get", plan.asked_if
    said = says_unchanged(before, plan.lastmod)
    was_304 = bool(state.validated_at and state.last_crawled_at and state.validated_at < state.last_crawled_at)
    same = (judgement.etag, judgement.last_modified) == (state.etag, state.last_modified)
    record = ValidatorRecord(
        state.domain,
        sent=int(conditional),
        not_modified=int(conditional and not whole),
        useless=int(conditional and whole and unchanged),
        changed_304=int(whole and not unchanged and was_304 and same),
        lastmod_right=int(said is False and not unchanged),
        lastmod_wrong=int(said is True and not unchanged),
    )
    return None if record == ValidatorRecord(state.domain) else record


# Of the version that the last crawl saw, and of today's, which may have another design.
PAGES_COUNTED = 60
# Before the first, all that is known is of the earlier crawl: five pages that are sold out one after the other are no
# new design.
_RELEARN_AT = (16, 32, PAGES_COUNTED)
_FEWEST_EVERYWHERE = 3
# Of fewer, what is done with a page takes 20 ms at most.
MANY_BLOCKS: Final = 500
_MANY_KEYS: Final = 15_000


class TwoVersions(NamedTuple):
    """A page as it was, and as it is."""

    old: Page
    new: Page
    frames: tuple[Frame, Frame] = (NO_FRAME, NO_FRAME)
    layout: int = REST
    """Of the page as it is."""


class _Shared(Struct):
    """Page keys of what the pages of a layout share."""

    chrome: set[int] = field(default_factory=set)
    said: set[int] = field(default_factory=set)
    """Each of them says it: where it is another the page is another."""

    def add(self, text: MainText) -> None:
        self.said |= text.said
        self.chrome = (self.chrome | text.chrome) - self.said


_NOTHING_SHARED: Final = _Shared()


class SiteVersions(Struct):
    """One domain, as it was and as it is."""

    policy: RepeatPolicy
    earlier: PageCounts[int] = field(default_factory=PageCounts)
    repeats: Repeats = field(default_factory=Repeats)
    _today: "list[array[int]]" = field(default_factory=list)
    """Blocks of pages of today, 8 bytes each: counts would take ten times as much, for each domain of a crawl."""
    _relearned_from: int = 0
    _shared: dict[int, "_Shared"] = field(default_factory=dict)
    """Of each layout what pages that were compared share."""
    _everywhere: frozenset[int] = frozenset()
    """What all pages of today have, until it is known what they repeat."""

    def recall(self, versions: Iterable[Iterable[int]]) -> Steps[None]:
        """Take in the blocks of pages as an earlier crawl saw them."""
        self.earlier = yield partial(_counted, versions)
        yield from self._relearn()

    def meet(self, keys: list[int]) -> Steps[None]:
        """Take in a page of today, given by its `page_keys`."""
        if len(self._today) < PAGES_COUNTED:
            self._everywhere = self._everywhere.intersection(keys) if self._today else frozenset(keys)
            self._today.append(array("Q", keys))
            if len(self._today) in _RELEARN_AT:
                yield from self._relearn()

    def differ_in_repeats(self, old: list[int], keys: list[int]) -> bool:
        """Whether two versions of a page, given by their `page_keys`, differ in nothing but what its site repeats."""
        return same_blocks(old, keys, self.repeats.boilerplate)

    def differ_in_chrome(self, old: list[int], keys: list[int], layout: int) -> bool:
        """Whether they differ in nothing but what pages of their layout were seen to share and not to say."""
        known = self._shared.get(layout, _NOTHING_SHARED)
        return same_blocks(old, keys, self.repeats.boilerplate & known.chrome)

    def verdict_on_repeats(self, old: list[int], new: Page, frame: Frame, policy: ChangePolicy) -> Verdict:
        """Return the verdict on a page that differs in what its site repeats, and whose older version was not kept."""
        if main_text(new, self.repeats, frame).said.issubset(old):
            return verdict_of({Change.BOILERPLATE_ONLY}, policy)
        return NOT_KEPT

    def compare(
        self, read: Callable[[], TwoVersions | None], policy: ChangePolicy, *, with_diff: bool
    ) -> Steps[tuple[Verdict, str]]:
        """Return the verdict on a page, and the difference if it is wanted.

        *read* returns what both versions are; None where the older one was not kept.
        """
        texts = yield partial(_main_texts, read, self.repeats)
        if texts is None:
            return NOT_KEPT, ""
        before, after, layout = texts
        for text in (before, after):
            self._shared.setdefault(layout, _Shared()).add(text)
        # Two pages that changed in one word are no site that did.
        everywhere = self._everywhere if len(self._today) >= _FEWEST_EVERYWHERE else frozenset[int]()
        is_large = max(len(before.passages), len(after.passages)) >= MANY_BLOCKS
        return (yield from _apart(is_large, partial(_judged, before, after, policy, everywhere, with_diff=with_diff)))

    def _relearn(self) -> Steps[None]:
        today = tuple(self._today)
        is_long = sum(map(len, today)) + len(self.earlier.counts) >= _MANY_KEYS
        repeats = yield from _apart(is_long, partial(_repeats, self.earlier, today, self.policy))
        if len(today) >= self._relearned_from:
            # Of two that were in threads at once the one by more pages counts.
            self.repeats, self._relearned_from = repeats, len(today)


def _apart(is_long: bool, part: Callable[[], T]) -> Steps[T]:  # noqa: FBT001
    """Return what a part of steps does; at once where it is not long."""
    found: T = (yield part) if is_long else part()
    return found


def _counted(versions: Iterable[Iterable[int]]) -> PageCounts[int]:
    counts = PageCounts[int]()
    for keys in versions:
        counts.add(keys)
    return counts


def _repeats(earlier: PageCounts[int], today: Iterable[Iterable[int]], policy: RepeatPolicy) -> Repeats:
    return repeats_of([earlier, _counted(today)], policy)


def _main_texts(read: Callable[[], TwoVersions | None], repeats: Repeats) -> tuple[MainText, MainText, int] | None:
    versions = read()
    if versions is None:
        return None
    before, after = versions.frames
    return main_text(versions.old, repeats, before), main_text(versions.new, repeats, after), versions.layout


def _judged(
    before: MainText, after: MainText, policy: ChangePolicy, everywhere: AbstractSet[int], *, with_diff: bool
) -> tuple[Verdict, str]:
    verdict = compare(before, after, policy, everywhere)
    is_told = with_diff and verdict.kind is VerdictKind.CHANGED
    return verdict, unified_diff(before, after) if is_told else ""


INCOMPLETE: Final = "incomplete_domains"
"""Under this name the stats of a worker list the domains that it did not see whole."""
EVERYTHING: Final = "*"
"""In place of too many."""
_MOST_NAMED: Final = 1_000


class Departed(Struct, frozen=True):
    """What a complete run did not find."""

    missed: tuple[bytes, ...] = ()
    """Page keys, removed ones included."""
    removed: tuple[MissedPage, ...] = ()
    too_many: tuple[tuple[str, int, int], ...] = ()
    """(domain, pages missed often enough, pages) where nothing is removed without somebody's word."""


def find_departed(
    store: ProjectStore, run_id: Any, domains: Collection[str], met: PagesMet, settings: Settings
) -> Departed:
    """Return what the run did not find on domains that it crawled completely; blocks, so call it in a thread.

    The run is at its end; *domains* are those of which it saw what there is to see, *met* keys of pages that it
    received, of which the store may not know yet.
    """
    if not domains:
        return Departed()
    shared = store.run is not None and store.run.worker is not None
    unfound: dict[bytes, Unfound] = {}
    due: list[MissedPage] = []
    for page in store.missing_pages(run_id, domains, shared=shared):
        if page.page_key not in met:
            was_asked = page.asked is not None or page.page_key in met.redirected
            is_gone = page.http_status in GONE
            unfound[page.page_key] = Unfound(page.parent_key, was_asked=was_asked, is_gone=is_gone)
            if page.missed_runs + 1 >= settings.removed_after:
                due.append(page)
    counted = missed(unfound, _leads(store, run_id, unfound, met, shared=shared))
    due = [page for page in due if page.page_key in counted]
    due.sort(key=lambda page: (page.domain, page.url, page.page_key))
    pages = store.live_pages({page.domain for page in due}) if due else {}
    by_domain: dict[str, list[MissedPage]] = {}
    for page in due:
        by_domain.setdefault(page.domain, []).append(page)
    too_many = {
        domain: (domain, len(found), pages.get(domain, 0))
        for domain, found in by_domain.items()
        if len(found) > settings.removed_max_share * pages.get(domain, 0)
    }
    return Departed(
        missed=tuple(key for key in unfound if key in counted),
        removed=tuple(page for page in due if page.domain not in too_many),
        too_many=tuple(too_many.values()),
    )


def _leads(
    store: ProjectStore, run_id: UUID, unfound: Mapping[bytes, Unfound], met: PagesMet, *, shared: bool
) -> dict[bytes, Lead]:
    """Return what is known of the pages that led to others, beside those that were not found themselves."""
    parents = {page.parent for page in unfound.values() if page.parent is not None} - unfound.keys()
    here = {key: Lead.READ if met.was_read(key) else Lead.UNREAD for key in parents if key in met}
    redirected = {key: Lead.UNREAD for key in parents - here.keys() if key in met.redirected}
    others = parents - here.keys() - redirected.keys()
    return here | redirected | (store.leads(run_id, others, shared=shared) if others else {})


def seen_by_all(store: ProjectStore, run_id: UUID, max_failures: float) -> list[str]:
    """Return the domains of which the workers of a run saw what there is to see, in order; blocks.

    It is read from what the store says of the run: nobody else knows what the other workers met.

    The run is at its end; *max_failures* is the largest share of a domain's URLs that may have failed.
    """
    told = [worker.stats.get(INCOMPLETE) for worker in store.workers_of([run_id]).get(run_id, ())]
    incomplete = {str(domain) for domains in told if isinstance(domains, list) for domain in domains}
    if EVERYTHING in incomplete:
        return []
    asked = store.urls_asked(run_id)
    return sorted(
        domain
        for domain, (urls, failed) in asked.items()
        if domain and failed <= max_failures * urls and domain not in incomplete
    )


def incomplete_domains(domains: Iterable[str], *, rows_lost: bool) -> list[str]:
    """Return what a worker tells others of domains that it did not see whole, in order.

    *rows_lost*: it could not write down what it saw, of whichever domain.
    """
    named = sorted(set(domains))
    return [EVERYTHING] if rows_lost or len(named) > _MOST_NAMED else named


def removal_records(pages: Iterable[MissedPage], at: datetime) -> list[Record]:
    """Return what is written of removed pages."""
    records: list[Record] = []
    for page in pages:
        records.append(GoneRecord(page.page_key, at))
        records.append(VisitRecord(page.page_key, at, "skip", "removed", _reason(page)))
    return records


def _reason(page: MissedPage) -> str:
    runs = page.missed_runs + 1
    return f"not found by {runs} complete run{'s' if runs > 1 else ''}"


def tombstone(page: MissedPage, project: str, run: str, url_field: str) -> dict[str, Any]:
    """Return the item that tells later pipelines and feeds of a removed page."""
    return {
        url_field: page.url,
        "dedup": {
            "project": project,
            "run": run,
            "domain": page.domain,
            "url": page.url,
            "page_key": page.page_key.hex(),
            "verdict": "removed",
            "reason": _reason(page),
            "previous_seen_at": page.last_seen_at.isoformat(),
        },
    }


def bare_tombstone(page_key: str, project: str, run: str) -> dict[str, Any]:
    """Return the tombstone of a forgotten page: of its URL nothing is left."""
    told = {"project": project, "run": run, "page_key": page_key, "verdict": "removed", "reason": "forgotten"}
    return {"dedup": told}


def is_tombstone(item: Any) -> bool:
    """Say whether an item tells of a removed page."""
    report = item.get("dedup") if isinstance(item, dict) else None
    return isinstance(report, dict) and report.get("verdict") == "removed"
