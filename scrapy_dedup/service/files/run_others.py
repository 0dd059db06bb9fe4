"""The pages of a cleaning run beside each other: those do not go out of which another one proves that it has them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from scrapy_dedup.core.duplicates.evidence import NO_FIELDS, PageEvidence, proves, proves_near
from scrapy_dedup.core.duplicates.matching import NEAR_DUPLICATE
from scrapy_dedup.core.urls.canonical import Alias
from scrapy_dedup.service.crawl.provenance import place_among_others
from scrapy_dedup.service.crawl.start_check import keeping_all, marking_all
from scrapy_dedup.service.duplicates.aliases import Aliases, Duplicate
from scrapy_dedup.service.duplicates.chunking import PageChunks, chunks_report
from scrapy_dedup.service.duplicates.comparison import PageComparison, compare
from scrapy_dedup.service.duplicates.index import Others, records_of
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.service.files.tasks import CleanedLine, KnownDomains, site_seen
from scrapy_dedup.service.policies import canonical_policy, url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.keep_policy import KeepPolicy
from scrapy_dedup.store.records.records import DocumentRecord, Record, SourceRecord
from scrapy_dedup.store.scratch import ShownPages
from scrapy_dedup.store.store import Store

_ROWS_AT_ONCE: Final = 500
# Document, source, signature, chunks.
_ROWS_A_PAGE: Final = 4
# Nobody asks when: the store is gone with the run.
_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PlacedPage:
    """What became of a page.

    Attributes:
        rows: that go out; its chunks, where they go out by themselves, before it.
        left: why none does: url, layer, reason, and keeper, the URL of the page that stands for it.
    """

    rows: list[dict[str, Any]]
    left: dict[str, Any] | None = None


class RunOthers:
    """What went out of a run so far, in files that last as long as the run does; any number of pages."""

    def __init__(self, settings: Settings, folder: str, known: KnownDomains) -> None:
        """Begin with no page.

        Args:
            settings: of the run.
            folder: for the store; the run's own.
            known: what is known of each domain.
        """
        self._settings = settings
        self._known = known
        # No row of it must outlive a crash.
        self._store = Store.open(f"sqlite:///{folder}/others.db")
        self._project = self._store.project("clean", KeepPolicy(decisions=0))
        self._shown = ShownPages()
        self._others = Others(self._project, is_alone=True)
        self._aliases = Aliases()
        self._rules = url_rules(settings)
        self._policy = canonical_policy(settings)
        self._rows: list[Record] = []
        self._unshared = 0
        """Rows that pages which share nothing would have had, were they written."""

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()
        self._shown.close()

    def place(self, line: CleanedLine, counts: Counter[str]) -> PlacedPage:
        """Return what goes out of a page, or why nothing does, and count what became of it."""
        counts["items/in"] += 1
        facts = line.facts
        if facts is None:
            counts["items/out"] += 1
            return PlacedPage([line.row])
        settings = keeping_all(self._settings) if line.is_kept else self._settings
        duplicate = self._by_address(line, facts, counts) if not line.is_kept else None
        found = duplicate or self._compared(line, facts, settings, counts)
        self._write_at_times()
        if isinstance(found, PageComparison):
            self._meet(line, facts, line.evidence)
            counts["items/out"] += 1
            row = line.row | {"dedup": line.row["dedup"] | place_among_others(found, settings)}
            return PlacedPage([*(_chunk_rows(row, facts, found.chunks) if settings.emit_chunks else ()), row])
        if found.layer != "url":
            self._meet(line, facts, None)
        counts[f"{found.layer}/dropped"] += 1
        counts["items/dropped"] += 1
        keeper, _ = self._of(found.document_key)
        return PlacedPage([], {"url": line.row["url"], "layer": found.layer, "reason": found.reason, "keeper": keeper})

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
        stand_in = PageFacts(key, domain, None, key, "", " " * chars)
        self._others.admit(stand_in, None, PageChunks(), dropped=False)
        self._unshared += _ROWS_A_PAGE
        self._write_at_times()

    def _by_address(self, line: CleanedLine, facts: PageFacts, counts: Counter[str]) -> Duplicate | None:
        """Return what stands for a page by its address; None: its text has to say more."""
        settings, key = self._settings, facts.page_key
        if settings.url_enabled and self._of(key)[0] is not None:
            if settings.acts("url"):
                return Duplicate("a page of this run", key, "url")
            counts["shadow/url/items"] += 1
        return self._alias(line, facts, counts) if settings.canonical_enabled else None

    def _alias(self, line: CleanedLine, facts: PageFacts, counts: Counter[str]) -> Duplicate | None:
        """Return the page that went out whose other address one is, or the same page's; as `AliasCheck` in a crawl."""
        aliases, key, acts, target = self._aliases, facts.page_key, self._settings.acts("canonical"), None
        if line.canonical is None:
            aliases.pages[facts.domain] += 1
        else:
            judged = aliases.judge_declaration(line.canonical, key, facts.domain, self._policy, self._rules)
            target = judged.target if isinstance(judged, Alias) else None
        candidates = aliases.candidates(key, target)
        for one in candidates:
            if self._is_proven(line, facts, one):
                if target is not None:
                    aliases.stand(target.page_key, one.document_key)
                if acts:
                    return one
                counts["shadow/canonical/items"] += 1
                return None
        if candidates:
            counts["canonical/unproven"] += 1
        if acts:
            has_come = target is not None and self._of(target.page_key)[0] is not None
            aliases.go_out(key, None if has_come else target)
        return None

    def _compared(
        self, line: CleanedLine, facts: PageFacts, settings: Settings, counts: Counter[str]
    ) -> Duplicate | PageComparison:
        """Return what stands for a page by its title or its text, or what else came of it beside the others."""
        found = self._others.ask(facts, settings)
        comparison = compare(self._others, facts, found, settings)
        counts.update(comparison.counts())
        duplicate = None
        if comparison.dropped and (same := comparison.same) is not None:
            # Of several pages with one text that a cut left, any may be the page's equal.
            others = [*self._others.with_text(facts, settings), *found.answer.texts]
            keepers = (Duplicate(same.reason, key, same.layer) for key in dict.fromkeys([same.keeper, *others]))
            duplicate = next((one for one in keepers if self._is_proven(line, facts, one)), None)
            if duplicate is None:
                counts[f"{same.layer}/unproven"] += 1
                comparison = compare(self._others, facts, found, marking_all(settings))
                counts.update(comparison.counts())
        key, url, domain = facts.page_key, line.row["url"], facts.domain
        self._rows += [
            DocumentRecord(key, url, domain, "completed", _AT),
            SourceRecord(key, url, domain, "html", "", _AT, cleaned_content=line.row["cleaned_content"]),
            *records_of(facts, comparison.same, comparison.chunks, settings, dropped=comparison.dropped),
        ]
        return duplicate or comparison

    def _is_proven(self, line: CleanedLine, facts: PageFacts, duplicate: Duplicate) -> bool:
        """Say whether nothing is lost with a page: one that went out has its text."""
        own, (_, other) = line.evidence, self._of(duplicate.document_key)
        if own is None or other is None:
            return False
        site = site_seen(self._known, facts.domain, self._settings)
        if proves(own, other, NO_FIELDS, line.own_words, site):
            return True
        return duplicate.layer == NEAR_DUPLICATE and proves_near(own, other, NO_FIELDS)

    def _meet(self, line: CleanedLine, facts: PageFacts, evidence: PageEvidence | None) -> None:
        """Note that a page came; with its evidence, that it went out."""
        self._shown.put(facts.page_key, line.row["url"], evidence.pack() if evidence is not None else None)

    def _of(self, key: bytes) -> tuple[str | None, PageEvidence | None]:
        """Return a page's URL, None where it has not come, and what it shows, where it went out."""
        url, packed = self._shown.of(key)
        return url, PageEvidence.unpack(packed) if packed is not None else None

    def _write_at_times(self) -> None:
        if len(self._rows) + self._unshared >= _ROWS_AT_ONCE:
            self._project.write(self._rows)
            self._rows.clear()
            self._unshared = 0


def _chunk_rows(row: dict[str, Any], facts: PageFacts, chunks: PageChunks) -> Iterator[dict[str, Any]]:
    page = {"url": row["url"], "page_key": facts.page_key.hex(), "title": row["title"]}
    for report in chunks_report(chunks):
        yield page | report
