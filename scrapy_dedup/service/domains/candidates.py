"""Results of search engines become domains and candidates: one for each site, however many results lead to it."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import BinaryIO, Final

from msgspec import Struct, field
from sqlalchemy import Connection

from scrapy_dedup.core.domains import (
    CandidateOutcome,
    DomainStanding,
    domain_name,
    outcome_of_known,
    outcome_of_new,
    twin_of,
)
from scrapy_dedup.service.packed_files import BYTE_ORDER_MARK, lines_of, read_json
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains import candidates
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.candidates import NewCandidate, StoredCandidate
from scrapy_dedup.store.domains.registry import StoredDomain, TwinPair
from scrapy_dedup.store.writer import ProjectStore

Advance = Callable[[int], None]
_MOST_LINE_BYTES: Final = 1_000_000
# Of what is stored as it came.
_MOST_ENGINE_CHARS: Final = 100
_MOST_TITLE_CHARS: Final = 500
_MOST_RANK: Final = 2**31


class Proposal(Struct, frozen=True):
    """A URL that a search engine proposed.

    Attributes:
        where: file and line.
        confidence: 0.0 to 1.0; None where the engine said nothing.
    """

    where: str
    url: str
    engine: str
    title: str | None = None
    confidence: float | None = None
    rank: int | None = None


class BadProposal(Struct, frozen=True):
    """What is none, and why."""

    where: str
    engine: str
    reason: str
    url: str = ""


def read_proposals(
    file: BinaryIO, name: str, engine: str, advance: Advance = lambda _: None
) -> Iterator[Proposal | BadProposal]:
    """Iterate over the proposals of a file of JSON lines: objects with `url`, and the other fields of a proposal.

    *name* stands in messages, *engine* for that of results that do not name theirs; *advance* is told of the bytes
    read.
    """
    for number, line in enumerate(lines_of(file, _MOST_LINE_BYTES), 1):
        advance(_MOST_LINE_BYTES if line is None else len(line))
        where = f"{name}, line {number}"
        if line is None:
            yield BadProposal(where, engine, f"the line is longer than {_MOST_LINE_BYTES:,} bytes")
        elif text := line.removeprefix(BYTE_ORDER_MARK).strip():
            yield _proposal(where, text, engine)


def _proposal(where: str, text: bytes, engine: str) -> Proposal | BadProposal:
    try:
        found = read_json(text)
    except (ValueError, RecursionError):
        return BadProposal(where, engine, "no JSON")
    if not isinstance(found, dict):
        return BadProposal(where, engine, "no object with a url")
    engine = _text(found.get("engine"), _MOST_ENGINE_CHARS) or engine
    url, confidence = found.get("url"), found.get("confidence")
    if not isinstance(url, str):
        return BadProposal(where, engine, "it has no url")
    if confidence is not None and not (
        isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1
    ):
        told = f"its confidence is {str(confidence)[:50]!r}: a number from 0.0 to 1.0 is needed, or none"
        return BadProposal(where, engine, told, url.strip())
    title, rank = _text(found.get("title"), _MOST_TITLE_CHARS), found.get("rank")
    if not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank < _MOST_RANK:
        rank = None
    return Proposal(where, url.strip(), engine, title, None if confidence is None else float(confidence), rank)


def _text(value: object, most: int) -> str | None:
    return (" ".join(value[: 2 * most].split())[:most] or None) if isinstance(value, str) else None


_AT_ONCE: Final = 500
_MOST_ENGINES: Final = 200
_OTHER_ENGINES: Final = "other engines"
_LAST: Final = 50


class JudgedCandidate(Struct, frozen=True):
    """What became of one URL.

    Attributes:
        where: file and line.
        domain: None where the URL names none.
        reason: what is wrong with an invalid one, else empty.
    """

    where: str
    url: str
    engine: str
    domain: str | None
    outcome: CandidateOutcome
    reason: str = ""


class CandidateTally(Struct):
    """How many URLs had which outcome."""

    outcomes: Counter[CandidateOutcome] = field(default_factory=Counter)
    engines: dict[str, Counter[CandidateOutcome]] = field(default_factory=dict)

    def add(self, judged: JudgedCandidate) -> None:
        """Count one more; engines beyond the first 200 are counted as one."""
        engine = judged.engine
        if engine not in self.engines and len(self.engines) >= _MOST_ENGINES:
            engine = _OTHER_ENGINES
        self.outcomes[judged.outcome] += 1
        self.engines.setdefault(engine, Counter())[judged.outcome] += 1


class _Known(Struct):
    """What is known of the domains of some URLs before they are looked at, and what they add to it."""

    pairs: dict[str, TwinPair]
    twins: dict[str, StoredDomain]
    with_candidate: set[str]
    added: set[str] = field(default_factory=set)


class CandidateIntake:
    """Reads what search engines proposed, in one discovery session.

    Some hundred URLs are judged and written in one transaction: a domain and its candidate come together, or not at
    all. What was read before an interruption stays, and is known the next time.
    """

    def __init__(self, project: ProjectStore, settings: Settings, session: str, *, dry_run: bool = False) -> None:
        """Take where domains are registered, and the name of the session; a dry run writes nothing."""
        self._project = project
        self._scope = settings.domain_scope
        self.session = session
        self.dry_run = dry_run
        # What a dry run would have written.
        self._imagined: set[str] = set()
        self._imagined_candidates: set[str] = set()
        self.session_id: uuid.UUID | None = None
        self.tally = CandidateTally()

    def take(self, proposals: Iterable[Proposal | BadProposal], at: datetime) -> Iterator[JudgedCandidate]:
        """Judge and write proposals, some hundred at a time; yield what became of each, in their order.

        Raises:
            StoreError: the store failed; those that were yielded are written.
        """
        source = iter(proposals)
        while some := list(islice(source, _AT_ONCE)):
            for judged in self._take(some, at):
                self.tally.add(judged)
                yield judged

    def finish(self, at: datetime) -> None:
        """Note how many URLs of the session had which outcome."""
        if self.session_id is not None:
            with self._project.transaction(write=True) as connection:
                counts = {outcome.value: number for outcome, number in self.tally.outcomes.items()}
                candidates.add_counts(connection, self.session_id, counts, at)

    def _take(self, some: Sequence[Proposal | BadProposal], at: datetime) -> list[JudgedCandidate]:
        named = [(each, _name(each, self._scope)) for each in some]
        names = {name for _, name in named if name is not None}
        with self._project.transaction(write=not self.dry_run) as connection:
            known = self._known(connection, names, at)
            judged = [self._judge(each, name, known, at) for each, name in named]
            if not self.dry_run:
                self._add(connection, named, judged, at)
        return judged

    def _known(self, connection: Connection, names: set[str], at: datetime) -> _Known:
        """Ask what is known of names, and register those that are not."""
        project_id = self._project.id
        twins = {twin for name in names if (twin := twin_of(name)) is not None}
        known = _Known(
            domains.find_pairs(connection, project_id, names),
            domains.find(connection, project_id, twins),
            candidates.with_candidate(connection, project_id, twins) | self._imagined_candidates,
        )
        missing = names - known.pairs.keys()
        if self.dry_run:
            known.added = missing - self._imagined
            self._imagined |= missing
            return known
        if self.session_id is None:
            self.session_id = candidates.begin_session(connection, project_id, self.session, at)
        known.added = domains.register(connection, project_id, missing, at, self.session_id)
        return known

    def _judge(self, each: Proposal | BadProposal, name: str | None, known: _Known, at: datetime) -> JudgedCandidate:
        if isinstance(each, BadProposal):
            return JudgedCandidate(each.where, each.url, each.engine, None, CandidateOutcome.INVALID, each.reason)
        if name is None:
            reason = "no http or https URL of a host"
            return JudgedCandidate(each.where, each.url, each.engine, None, CandidateOutcome.INVALID, reason)
        return JudgedCandidate(each.where, each.url, each.engine, name, self._outcome(name, known, at))

    def _outcome(self, name: str, known: _Known, at: datetime) -> CandidateOutcome:
        if name in known.pairs:
            return outcome_of_known(known.pairs[name].domain, at)
        if name not in known.added:
            # It came before, or another process was quicker.
            return CandidateOutcome.KNOWN
        known.added.discard(name)
        twin = twin_of(name) or ""
        has_candidate = twin in known.with_candidate
        # A twin that these results brought is a domain that was discovered.
        stands = known.twins.get(twin) or (DomainStanding() if has_candidate else None)
        outcome = outcome_of_new(stands, at, twin_has_candidate=has_candidate)
        if outcome is CandidateOutcome.NEW:
            known.with_candidate.add(name)
            if self.dry_run:
                self._imagined_candidates.add(name)
        return outcome

    def _add(
        self,
        connection: Connection,
        named: Sequence[tuple[Proposal | BadProposal, str | None]],
        judged: Sequence[JudgedCandidate],
        at: datetime,
    ) -> None:
        assert self.session_id is not None
        new = [
            NewCandidate(each.url, each.engine, name, each.title, each.confidence, each.rank)
            for (each, name), one in zip(named, judged, strict=True)
            if one.outcome is CandidateOutcome.NEW and isinstance(each, Proposal) and name is not None
        ]
        candidates.add(connection, self._project.id, self.session_id, new, at)


def candidates_of(project: ProjectStore, names: Iterable[str | None]) -> list[StoredCandidate]:
    """Return the last candidates of some domains, newest first.

    Raises:
        StoreError: the store failed.
    """
    with project.transaction() as connection:
        return candidates.of_domains(connection, project.id, {name for name in names if name}, _LAST)


def _name(each: Proposal | BadProposal, scope: str) -> str | None:
    if isinstance(each, BadProposal) or "://" not in each.url:
        return None
    return domain_name(each.url, "registrable" if scope == "registrable" else "host")
