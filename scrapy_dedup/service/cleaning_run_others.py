"""The pages of a cleaning run beside each other: those whose text another one has do not go out."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from scrapy_dedup.core.canonical import Alias, Declaration
from scrapy_dedup.core.neardup import jaccard
from scrapy_dedup.service.aliases import Aliases
from scrapy_dedup.service.chunking import PageChunks, chunks_report
from scrapy_dedup.service.cleaning_run_tasks import Line
from scrapy_dedup.service.comparison import compare
from scrapy_dedup.service.others import Others, records_of
from scrapy_dedup.service.page_facts import Facts
from scrapy_dedup.service.policies import canonical_policy, url_rules
from scrapy_dedup.service.provenance import place_among_others
from scrapy_dedup.service.start_check import keeping_all
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.records import CrawledUrlRecord, DocumentRecord, Record, SourceRecord
from scrapy_dedup.store.store import Store

_ROWS_AT_ONCE: Final = 500
# Address, document, source, signature, chunks.
_ROWS_A_PAGE: Final = 5
# Nobody asks when: the store is gone with the run.
_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)


_REASONS: Final = {"url": "a page of this run", "canonical": "its canonical link, and the same text"}


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of a page.

    Attributes:
        rows: that go out; its chunks, where they go out by themselves, before it.
        left: why none does: url, layer, reason, and keeper, the URL of the page that stands for it.
    """

    rows: list[dict[str, Any]]
    left: dict[str, Any] | None = None


class RunOthers:
    """What went out of a run so far, in a store that lasts as long as the run does; any number of pages."""

    def __init__(self, settings: Settings, folder: str) -> None:
        """Begin with no page; the store stands in a folder that is the run's own."""
        self._settings = settings
        # No row of it must outlive a crash.
        self._store = Store.open(f"sqlite:///{folder}/others.db")
        self._project = self._store.project("clean", KeepPolicy(decisions=0))
        self._others = Others(self._project, is_alone=True)
        self._aliases = Aliases()
        self._rules = url_rules(settings)
        self._policy = canonical_policy(settings)
        self._rows: list[Record] = []
        self._unshared = 0
        """Rows that pages which share nothing would have had, were they written."""
        self._unwritten: dict[bytes, str] = {}
        """Pages that were met since the last write: key to URL."""

    def close(self) -> None:
        """Let go of the store's file."""
        self._store.close()

    def place(self, line: Line, counts: Counter[str]) -> Placed:
        """Return what goes out of a page, or why nothing does, and count what became of it."""
        counts["items/in"] += 1
        facts = line.facts
        if facts is None:
            counts["items/out"] += 1
            return Placed([line.row])
        placed = self._by_address(line, facts, counts) or self._compared(line, facts, counts)
        if placed.left is None:
            counts["items/out"] += 1
        else:
            counts[f"{placed.left['layer']}/dropped"] += 1
            counts["items/dropped"] += 1
        self._write_at_times()
        return placed

    def pass_by(self, key: bytes, domain: str, chars: int, *, is_kept: bool) -> None:
        """Let a page go out that shares nothing with any other: no address, title, text, sketch or chunk.

        All that it does to others is to take its place among the recent pages, so that each of these is looked for in
        memory or in the store as if nothing had been known of it before.

        Args:
            key: by which it is told from all other pages.
            domain: that it belongs to.
            chars: of its words.
            is_kept: somebody decided that it stays as it is.
        """
        if self._settings.canonical_enabled and not is_kept:
            self._aliases.pages[domain] += 1
        stand_in = Facts(key, domain, None, key, "", " " * chars)
        self._others.admit(stand_in, None, PageChunks(), dropped=False)
        self._unshared += _ROWS_A_PAGE
        self._write_at_times()

    def _by_address(self, line: Line, facts: Facts, counts: Counter[str]) -> Placed | None:
        """Return which layer leaves out a page for its address; None: its text has to say more."""
        if line.is_kept:
            return None
        for layer, find in (("url", self._was_met), ("canonical", self._alias_of)):
            keeper = find(facts, line.canonical) if getattr(self._settings, f"{layer}_enabled") else None
            if keeper is None:
                continue
            if self._settings.acts(layer):
                self._note_address(line, facts)
                return Placed([], self._left(line, layer, _REASONS[layer], keeper))
            counts[f"shadow/{layer}/items"] += 1
        return None

    def _left(self, line: Line, layer: str, reason: str, keeper: bytes) -> dict[str, Any]:
        return {"url": line.row["url"], "layer": layer, "reason": reason, "keeper": self._url_of(keeper)}

    def _url_of(self, key: bytes) -> str | None:
        if key in self._unwritten:
            return self._unwritten[key]
        page = self._project.page(key)
        return page.crawled_url.url if page is not None and page.crawled_url is not None else None

    def _was_met(self, facts: Facts, _said: Declaration | None) -> bytes | None:
        key = facts.page_key
        return key if key in self._unwritten or key in self._project.document_keys([key]) else None

    def _alias_of(self, facts: Facts, said: Declaration | None) -> bytes | None:
        """Return the page that went out whose other address one is, or the same page's."""
        aliases = self._aliases
        if (keeper := self._agreeing(facts, aliases.standing.get(facts.page_key, ()))) is not None:
            return keeper
        aliases.standing.pop(facts.page_key, None)
        if said is None:
            aliases.pages[facts.domain] += 1
            return None
        found = aliases.judge_declaration(said, facts.page_key, facts.domain, self._policy, self._rules)
        if not isinstance(found, Alias):
            return None
        target = found.target.page_key
        keeper = self._agreeing(facts, [target, *aliases.standing.get(target, ())])
        if keeper is None:
            aliases.stand(target, facts.page_key)
        return keeper

    def _agreeing(self, facts: Facts, keys: Iterable[bytes]) -> bytes | None:
        """Return the first of some pages that has a page's text."""
        wanted = [key for key in keys if key != facts.page_key]
        words = self._others.words_of(wanted, self._settings) if wanted else {}
        least = self._policy.agrees_at
        alike = (key for key in wanted if key in words and _alike(words[key], facts.text, least))
        return next(alike, None)

    def _compared(self, line: Line, facts: Facts, counts: Counter[str]) -> Placed:
        settings = keeping_all(self._settings) if line.is_kept else self._settings
        comparison = compare(self._others, facts, self._others.ask(facts, settings), settings)
        counts.update(comparison.counts())
        self._note(line, facts)
        self._rows += records_of(facts, comparison.same, comparison.chunks, settings, dropped=comparison.dropped)
        same = comparison.same
        if comparison.dropped and same is not None:
            return Placed([], self._left(line, same.layer, same.reason, same.keeper))
        row = dict(line.row)
        row["dedup"] = row["dedup"] | place_among_others(comparison, settings)
        if not settings.emit_chunks:
            return Placed([row])
        return Placed([*_chunk_rows(row, facts, comparison.chunks), row])

    def _note_address(self, line: Line, facts: Facts) -> None:
        """Write down a page's address, so that the page is met only once."""
        key = facts.page_key
        self._unwritten[key] = line.row["url"]
        self._rows.append(CrawledUrlRecord(key, line.row["url"], facts.domain, "crawled", _AT, document_key=key))

    def _note(self, line: Line, facts: Facts) -> None:
        """Write down a page, so that later ones meet it."""
        key, url, domain = facts.page_key, line.row["url"], facts.domain
        self._note_address(line, facts)
        self._rows += [
            DocumentRecord(key, url, domain, "completed", _AT),
            SourceRecord(key, url, domain, "html", "", _AT, cleaned_content=line.row["cleaned_content"]),
        ]

    def _write_at_times(self) -> None:
        if len(self._rows) + self._unshared >= _ROWS_AT_ONCE:
            self._write()

    def _write(self) -> None:
        self._project.write(self._rows)
        self._rows.clear()
        self._unshared = 0
        self._unwritten.clear()


def _alike(one: str, other: str, least: float) -> bool:
    return one == other or jaccard(one, other) >= least


def _chunk_rows(row: dict[str, Any], facts: Facts, chunks: PageChunks) -> Iterator[dict[str, Any]]:
    page = {"url": row["url"], "page_key": facts.page_key.hex(), "title": row["title"]}
    for report in chunks_report(chunks):
        yield page | report
