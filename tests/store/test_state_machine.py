"""The store has of pages over several runs what a dictionary would have, however records are written together."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from scrapy_dedup.store.records.records import DocumentRecord, GoneRecord, Record, SeenRecord, SourceRecord
from scrapy_dedup.store.store import Store
from tests.machines import run_machine
from tests.store.builders import DOMAIN, NOON, a_decision, a_document, a_key, a_snapshot, a_source, a_time, a_visit

PAGES = range(3)
FROM_A_VISIT = ("verdict", "etag", "last_modified", "interval_seconds")
KEPT_IF_NONE = ("validated_at", "lastmod")
REPLACED = (*FROM_A_VISIT, *KEPT_IF_NONE, "title", "missed_runs", "gone_at", "last_changed_at", "depth")

pages = st.sampled_from(PAGES)
texts = st.none() | st.sampled_from(["a", "b"])
times = st.none() | st.integers(0, 9).map(a_time)
counts = st.integers(0, 5)


@dataclass
class Kept:
    """What a dictionary has of the project."""

    documents: dict[bytes, dict[str, Any]] = field(default_factory=dict)
    sources: dict[bytes, SourceRecord] = field(default_factory=dict)
    decisions: dict[tuple[bytes, str], str] = field(default_factory=dict)

    def take(self, record: Record, run_id: object) -> None:
        """Do what a record says, by the words of its class."""
        known = self.documents.get(record.page_key) if hasattr(record, "page_key") else None
        match record:
            case DocumentRecord(status="completed"):
                self.documents[record.page_key] = {name: getattr(record, name) for name in REPLACED} | {
                    "run_id": run_id,
                    "status": "completed",
                    "last_seen_at": record.last_seen_at or record.updated_at,
                    "first_seen_at": (known or {}).get("first_seen_at") or record.first_seen_at or record.updated_at,
                    "visits_count": max(record.visits_count, (known or {}).get("visits_count", 0)),
                    "changes_count": max(record.changes_count, (known or {}).get("changes_count", 0)),
                }
            case DocumentRecord() if known is not None:
                known |= {"status": record.status, "run_id": run_id}
            case SeenRecord() if known is not None:
                known |= {name: getattr(record, name) for name in FROM_A_VISIT}
                known |= {name: value for name in KEPT_IF_NONE if (value := getattr(record, name)) is not None}
                known |= {"run_id": run_id, "status": "completed", "last_seen_at": record.at}
                known |= {"missed_runs": 0, "gone_at": None}
                known["visits_count"] = max(known["visits_count"], record.visits_count)
            case GoneRecord() if known is not None and known["gone_at"] is None:
                known |= {"gone_at": record.at, "verdict": "removed"}
            case SourceRecord():
                held = self.sources.get(record.page_key)
                if held is None or record.fetched_at >= held.fetched_at:
                    self.sources[record.page_key] = record
            case _:
                pass


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Give what a crawl may note of a page; one that is not known is first of all completed."""
    name, at = draw(pages), a_time(draw(st.integers(0, 9)))
    visit: dict[str, Any] = {"verdict": "unchanged", "etag": draw(texts), "last_modified": draw(texts)}
    visit |= {"lastmod": draw(times), "interval_seconds": draw(st.none() | st.just(60.0)), "visits_count": draw(counts)}
    kind = draw(st.sampled_from(["completed", "completed", "processing", "failed", "seen", "gone", "source"]))
    if kind == "completed":
        more = {"title": draw(texts), "changes_count": draw(counts), "missed_runs": draw(counts), "depth": draw(counts)}
        return a_document(name, updated_at=at, validated_at=draw(times), first_seen_at=draw(times), **visit, **more)
    if kind == "seen":
        return a_snapshot(name, at=at, validated_at=draw(times), **visit)
    if kind == "gone":
        return GoneRecord(a_key(name), at)
    if kind == "source":
        return a_source(name, content=draw(st.sampled_from(["one", "two"])), fetched_at=at)
    return a_document(name, status=kind, updated_at=at, error="e")


class StoreMachine(RuleBasedStateMachine):
    """Writes records of a few pages over runs."""

    @initialize()
    def begin(self) -> None:
        self.store = Store.open("sqlite://")
        self.project = self.store.project("shop")
        self.kept = Kept()
        self.run_number = 0
        self._begin_run()
        self._write([a_document(name) for name in PAGES])

    def _begin_run(self) -> None:
        self.run_number += 1
        at = NOON + timedelta(days=self.run_number)
        self.run = self.project.begin_run(spider="site", jobdir=None, started_at=at)

    def _write(self, some: list[Record]) -> None:
        self.project.write(some)
        for one in some:
            self.kept.take(one, self.run.id)

    @rule(some=st.lists(records(), min_size=1, max_size=6))
    def write_together(self, some: list[Record]) -> None:
        self._write(some)

    @rule(some=st.lists(records(), min_size=1, max_size=3))
    def write_twice(self, some: list[Record]) -> None:
        """Write the same again, as after an answer of the database that got lost."""
        self._write(some)
        self._write(some)

    @rule(name=pages, layer=st.sampled_from(["url", "title"]), reason=st.sampled_from(["a", "b"]))
    def decide(self, name: int, layer: str, reason: str) -> None:
        self.project.write([a_decision(name, layer=layer, reason=reason), a_visit((name, layer))])
        self.kept.decisions[a_key(name), layer] = reason

    @rule(finished=st.booleans())
    def next_run(self, *, finished: bool) -> None:
        """End a run; a whole one is counted for the pages that it did not find, once."""
        at: datetime = NOON + timedelta(days=self.run_number, hours=1)
        if finished:
            missing = [one.page_key for one in self.project.missing_pages(self.run.id, [DOMAIN])]
            assert self.project.count_missed(self.run.id, missing)
            assert not self.project.count_missed(self.run.id, missing)
            for key in missing:
                self.kept.documents[key]["missed_runs"] += 1
        status = "finished" if finished else "stopped"
        self.project.end_run(self.run.id, status=status, reason=status, stats={}, finished_at=at)  # type: ignore[arg-type]
        self._begin_run()

    @invariant()
    def is_what_a_dictionary_has(self) -> None:
        if not hasattr(self, "kept"):
            return
        states = self.project.page_states([a_key(name) for name in PAGES])
        found = {
            key: {name: getattr(state, name) for name in self.kept.documents[key]} for key, state in states.items()
        }
        assert found == self.kept.documents
        for name in PAGES:
            key, page = a_key(name), self.project.page(a_key(name))
            held = self.kept.sources.get(key)
            stored = page.source if page is not None else None
            assert (stored and (stored.content, stored.fetched_at)) == (held and (held.content, held.fetched_at))
            decided = {(key, one.layer): one.reason for one in self.project.decisions(key)}
            assert decided == {named: reason for named, reason in self.kept.decisions.items() if named[0] == key}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


def test_store_is_a_dictionary_of_pages_by_a_machine():
    run_machine(StoreMachine)


def test_of_two_records_in_one_write_the_later_counts():
    """Found by the machine: a page that was gone and came back in one write was gone, and an old original won."""
    with Store.open("sqlite://") as store:
        project = store.project("shop")
        old, new = a_source(content="old", fetched_at=NOON), a_source(content="new", fetched_at=a_time(1))
        project.write([a_document(), GoneRecord(a_key(), NOON), a_document(updated_at=a_time(1)), new, old])
        page = project.page(a_key())

        assert page.source.content == "new"
        assert project.page_states([a_key()])[a_key()].gone_at is None
        project.write([GoneRecord(a_key(), NOON), replace(a_snapshot(), at=a_time(2))])
        assert project.page_states([a_key()])[a_key()].gone_at is None
