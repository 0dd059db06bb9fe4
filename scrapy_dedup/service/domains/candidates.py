"""Results of search engines become domains and candidates: one for each site, however many results lead to it."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any, BinaryIO, Final

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
_MOST_ARRAY_BYTES: Final = 32_000_000
# Of what is stored as it came.
_MOST_ENGINE_CHARS: Final = 100
_MOST_TITLE_CHARS: Final = 500
_MOST_RANK: Final = 2**31
_BRACKETS: Final = (b"[", b"{")
_NOTHING: Final = object()


class Proposal(Struct, frozen=True):
    """A URL that a search engine proposed.

    Attributes:
        where: file and line, or place in the array.
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
    """Iterate over the proposals of a file of JSON lines, or of one array.

    A line is an object with `url`, and `engine`, `title`, `confidence` and `rank` if known; or a URL by itself; or an
    engine's answer with its `results`. A file that begins with an array, or is one answer on many lines, is read whole.

    *name* stands in messages, *engine* for that of results that do not name theirs; *advance* is told of the bytes
    read.
    """
    lines = _lines(file, name, advance)
    first = next((each for each in lines if each.text != b""), None)
    if first is None:
        return
    begun = [first]
    if first.text is not None and first.text[:1] in _BRACKETS and _json(first.text) is _NOTHING:
        whole = _rest(begun, lines)
        if whole is not _NOTHING:
            yield from _proposals(name, whole, engine)
            return
    for line in chain(begun, lines):
        yield from _of_line(line, engine)


class _ResultLine(Struct, frozen=True):
    where: str
    text: bytes | None
    """None for one that is too long."""


def _lines(file: BinaryIO, name: str, advance: Advance) -> Iterator[_ResultLine]:
    for number, line in enumerate(lines_of(file, _MOST_LINE_BYTES), 1):
        advance(_MOST_LINE_BYTES if line is None else len(line))
        yield _ResultLine(
            f"{name}, line {number}", None if line is None else line.removeprefix(BYTE_ORDER_MARK).strip()
        )


def _rest(begun: list[_ResultLine], lines: Iterator[_ResultLine]) -> Any:
    """Return the value that a file holds whose first line is none by itself; what was read is added to *begun*."""
    size = 0
    for line in lines:
        begun.append(line)
        size += len(line.text or b"")
        if line.text is None or size > _MOST_ARRAY_BYTES:
            return _NOTHING
    return _json(b"\n".join(line.text or b"" for line in begun))


def _json(text: bytes) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return _NOTHING


def _of_line(line: _ResultLine, engine: str) -> Iterator[Proposal | BadProposal]:
    if line.text is None:
        yield BadProposal(line.where, engine, f"the line is longer than {_MOST_LINE_BYTES:,} bytes")
        return
    # An item of an array that was written with an item a line.
    text = line.text.removesuffix(b",").rstrip()
    if text in {b"", b"[", b"]"}:
        return
    if text[:1] in {*_BRACKETS, b'"'}:
        found = _json(text)
        if found is _NOTHING:
            yield BadProposal(line.where, engine, "no JSON")
        else:
            yield from _proposals(line.where, found, engine)
    else:
        yield Proposal(line.where, text.decode("utf-8", "replace"), engine)


def _proposals(where: str, found: object, engine: str) -> Iterator[Proposal | BadProposal]:
    """Iterate over the results that a JSON value holds: one, an array of them, or an answer with its results."""
    if isinstance(found, dict) and "url" not in found and isinstance(found.get("results"), list):
        engine = _text(found.get("engine"), _MOST_ENGINE_CHARS) or engine
        found = found["results"]
    if isinstance(found, list):
        for number, each in enumerate(found, 1):
            yield _one(f"{where}, result {number}", each, engine)
    else:
        yield _one(where, found, engine)


def _one(where: str, found: object, engine: str) -> Proposal | BadProposal:
    if isinstance(found, str):
        return Proposal(where, found.strip(), engine)
    if not isinstance(found, dict):
        return BadProposal(where, engine, "neither a URL nor an object with one")
    engine = _text(found.get("engine"), _MOST_ENGINE_CHARS) or engine
    url = found.get("url")
    if not isinstance(url, str):
        return BadProposal(where, engine, "it has no url")
    confidence = found.get("confidence")
    if confidence is not None and not _is_share(confidence):
        told = f"its confidence is {str(confidence)[:50]!r}: a number from 0.0 to 1.0 is needed, or none"
        return BadProposal(where, engine, told, url.strip())
    title = _text(found.get("title"), _MOST_TITLE_CHARS)
    return Proposal(where, url.strip(), engine, title, None if confidence is None else float(confidence), _rank(found))


def _text(value: object, most: int) -> str | None:
    return (" ".join(value[: 2 * most].split())[:most] or None) if isinstance(value, str) else None


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _rank(found: Mapping[str, Any]) -> int | None:
    value = found.get("rank")
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_RANK else None


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
