"""What is known of a page before it is asked for, and what a visit of it comes to."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from scrapy_dedup.core.directives import Directives
from scrapy_dedup.core.likeness import TITLE
from scrapy_dedup.core.memo import memo_key
from scrapy_dedup.core.recrawl import (
    Fetch,
    PageState,
    Revalidate,
    Situation,
    Skip,
    SkipReason,
    decide,
    matches,
    says_unchanged,
)
from scrapy_dedup.core.verdicts import NEW, Change, Kind, Verdict
from scrapy_dedup.service.policies import recrawl_policy
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.errors import DamagedStoreError
from scrapy_dedup.store.records import ExtractionRecord, Fetched, ValidatorRecord
from scrapy_dedup.store.stored_visits import StoredState
from scrapy_dedup.store.writer import ProjectStore

UNKEEPABLE = "unkeepable"
"""Key of the only entry of an extraction's requests where the callback has to run again."""
BACK = Verdict(Kind.NEW, Change.NONE, "back after it was removed")
FIRST_VERSION = Verdict(Kind.UNCHANGED, Change.NONE, "known from elsewhere; this is the first version seen here")
NOT_KEPT = Verdict(Kind.CHANGED, Change.CONTENT, "blocks differ, and the older version was not kept")
SAME_BYTES = Verdict(Kind.UNCHANGED, Change.NONE, "the bytes are the same")
OTHER_BYTES = Verdict(Kind.CHANGED, Change.CONTENT, "the bytes differ")
SERVER_SAYS_SO = Verdict(Kind.UNCHANGED, Change.NONE, "the server says so (304)")


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A request, as far as its outcome depends on it."""

    page_key: bytes
    callback: str
    cb_kwargs: Mapping[str, Any]
    """In the form in which it is kept."""
    version: str


@dataclass(frozen=True, slots=True)
class Known:
    """What the store holds of a request's page."""

    state: StoredState | None = None
    extraction: ExtractionRecord | None = None
    """Of the state's content, by the request's callback."""
    damaged: bool = False
    """An extraction was there and could not be read."""

    @property
    def is_done(self) -> bool:
        """Whether the callback has dealt with this content, be it that its outcome could not be kept."""
        return self.extraction is not None

    @property
    def is_kept(self) -> bool:
        """Whether there is an outcome that stands for the callback."""
        return self.extraction is not None and not any(
            isinstance(entry, dict) and UNKEEPABLE in entry for entry in self.extraction.requests
        )

    def can_answer(self, settings: Settings, now: datetime) -> bool:
        """Say whether what is held stands for the page where it has not changed."""
        if settings.unchanged == "mark" or not self.is_kept or self.is_expired(settings, now):
            return False
        if self.state is not None and self.state.gone_at is not None:
            # It was said to be removed: if it is there, it is new.
            return False
        return settings.unchanged == "skip" or self.has_items

    @property
    def has_items(self) -> bool:
        """Whether the page's items are held, be they none."""
        return self.extraction is not None and self.extraction.items is not None

    def is_expired(self, settings: Settings, now: datetime) -> bool:
        """Say whether what is held is too old to be used."""
        age = settings.cache_max_age
        return age is not None and self.extraction is not None and now - self.extraction.created_at >= age


NOTHING_KNOWN = Known()


def look_up(store: ProjectStore, asked: Collection[Asked]) -> dict[Asked, Known]:
    """Return what is known of some requests' pages; blocks, so call it in a thread."""
    states = store.page_states({one.page_key for one in asked})
    others = {state.document_key for state in states.values() if state.document_key} - states.keys()
    originals = states | (store.page_states(others) if others else {})
    return {
        one: _known(store, one, states[one.page_key], originals) if one.page_key in states else NOTHING_KNOWN
        for one in asked
    }


def _known(store: ProjectStore, asked: Asked, state: StoredState, originals: Mapping[bytes, StoredState]) -> Known:
    if state.status != "completed":
        # Of another version items may have gone out before a kill: those of this one go out again.
        return Known(state)
    if state.document_key not in (None, state.page_key):
        original = originals.get(state.document_key or b"")
        # What this page was a duplicate of is gone, or is another page by now: it stands for itself.
        if (
            original is None
            or original.gone_at
            or (original.last_changed_at or state.last_seen_at) > state.last_seen_at
        ):
            return Known(state)
    content = state.content_hash or b""
    own = memo_key(asked.page_key, content, asked.callback, asked.cb_kwargs, asked.version)
    # What the content index was told has no callback.
    indexed = memo_key(asked.page_key, content, "", {}, "")
    held = next((key for key in (own, indexed) if key in state.memo_keys), None)
    if held is None:
        return Known(state)
    try:
        return Known(state, store.extraction(held))
    except DamagedStoreError:
        return Known(state, damaged=True)


def page_state(state: StoredState | None) -> PageState | None:
    """Return what `core.recrawl` wants to know of a page."""
    if state is None:
        return None
    asked_at = state.last_crawled_at or state.last_seen_at
    # A visit after the last acknowledged one, and no status: the fetch failed.
    unknown = 200 if asked_at <= state.last_seen_at else 0
    return PageState(
        at=asked_at,
        status=state.http_status if state.http_status is not None else unknown,
        etag=state.etag,
        last_modified=state.last_modified,
        validated_at=state.validated_at,
        interval=None if state.interval_seconds is None else timedelta(seconds=state.interval_seconds),
        lastmod=state.lastmod,
    )


@dataclass(frozen=True, slots=True)
class Word:
    """What a domain says of its pages, and whether that is believed."""

    trusts_validators: bool = True
    lastmod: datetime | None = None
    trusts_lastmod: bool = False
    is_found_by_many: bool = False
    """Its URL has parameters that change nothing: what stands for it may be itself, under a former key."""


@dataclass(slots=True)
class Plan:
    """What is done about a request."""

    known: Known
    decision: Fetch | Revalidate | Skip
    is_refresh: bool = False
    lastmod: datetime | None = None
    began: float = 0.0
    """Seconds on a clock that only goes forward."""


def plan(url: str, known: Known, settings: Settings, now: datetime, word: Word) -> Plan:
    """Decide about a request for a page."""
    # What is not kept cannot be cleaned again: its callback makes its items anew.
    is_stale = known.state is not None and known.state.stale is not None and settings.keep_pages == "none"
    refresh = is_refreshed(url, settings) or is_stale
    situation = Situation(
        has_outcome=known.can_answer(settings, now),
        refresh=refresh,
        trusts_validators=word.trusts_validators,
        lastmod=word.lastmod,
        trusts_lastmod=word.trusts_lastmod,
    )
    decision = decide(url, page_state(known.state), now, recrawl_policy(settings), situation)
    if not (isinstance(decision, Skip) or refresh or word.is_found_by_many) and situation.has_outcome:
        decision = _left_to_twin(known.state, settings, now) or decision
    return Plan(known, decision, refresh, word.lastmod)


def _left_to_twin(state: StoredState | None, settings: Settings, now: datetime) -> Skip | None:
    """Return until when a page is not asked for, whose title and text another page has that did not change since."""
    if state is None or state.alias_kind != TITLE or not settings.acts(TITLE):
        return None
    until = (state.validated_at or state.last_seen_at) + settings.max_304_age
    return Skip(SkipReason.TITLE, until) if now < until else None


def is_refreshed(url: str, settings: Settings) -> bool:
    """Say whether the user wants a page anew in this run."""
    return any(pattern in ("*", url) or matches(pattern, url) for pattern in settings.refresh)


@dataclass(slots=True)
class Judgement:
    """What a visit of a page comes to, beside the last one."""

    known: Known
    verdict: Verdict = NEW
    fetched: Fetched = "get"
    reason: str = ""
    """Why the page was not asked for; else the verdict's reason counts."""
    etag: str | None = None
    last_modified: str | None = None
    lastmod: datetime | None = None
    blocks: bytes | None = None
    links: bytes | None = None
    content: bytes | None = None
    """Hash of what is no page of HTML."""
    moved: bytes | None = None
    diff: str = ""
    directives: Directives = field(default_factory=Directives)
    depth: int | None = None
    bytes_received: int = 0
    began: float = 0.0
    duplicate_of: bytes | None = None
    """Key of the page that has its content, and whose items stand for it."""
    duplicate_by: str = "canonical"
    """The layer that found that page."""
    replays: bool = False
    """What is held is given in place of the callback."""
    links_only: bool = False
    """The callback runs for its requests; items that it yields are left out."""
    gives_stored: bool = False
    """The stored items go out."""
    is_shadow: bool = False
    """It is only noted: the page goes out as if nobody had compared it."""

    @property
    def state(self) -> StoredState | None:
        """What the last acknowledged visit left."""
        return self.known.state

    @property
    def is_unchanged(self) -> bool:
        """Whether the stored version stands."""
        return self.verdict.kind is Kind.UNCHANGED

    def treat(self, settings: Settings, *, links_known: bool, usable: bool) -> None:
        """Decide what takes the place of an unchanged page's callback.

        Args:
            settings: what the user wants of unchanged pages.
            links_known: the page leads nowhere that was not known.
            usable: what is held may be used: it is young enough, and the user did not ask for a new one.
        """
        known = self.known
        if not self.is_unchanged or not known.is_done or not usable or settings.unchanged == "mark":
            return
        if settings.unchanged == "replay":
            self.gives_stored = known.has_items
            self.replays = known.has_items and known.is_kept and links_known
            self.links_only = known.has_items and not self.replays
        else:
            self.replays = known.is_kept and links_known
            self.links_only = not self.replays


def word_kept(plan: Plan, judgement: Judgement, *, conditional: bool) -> ValidatorRecord | None:
    """Return by how much a visit adds to what a site's validators and dates are worth; None where it says nothing.

    Args:
        plan: of the request.
        judgement: what came of it.
        conditional: the site was asked for the page only if it had changed.
    """
    state = judgement.state
    before = page_state(state)
    if state is None or before is None:
        return None
    unchanged, whole = judgement.is_unchanged, judgement.fetched == "get"
    said = says_unchanged(before, plan.lastmod)
    was_304 = bool(state.validated_at and state.last_crawled_at and state.validated_at < state.last_crawled_at)
    same = (judgement.etag, judgement.last_modified) == (state.etag, state.last_modified)
    record = ValidatorRecord(
        state.domain,
        sent=int(conditional),
        not_modified=int(conditional and not whole),
        useless=int(conditional and whole and unchanged),
        changed_304=int(whole and not unchanged and was_304 and same),
        lastmod_right=int(said is True and unchanged),
        lastmod_wrong=int(said is True and not unchanged),
    )
    return None if record == ValidatorRecord(state.domain) else record
