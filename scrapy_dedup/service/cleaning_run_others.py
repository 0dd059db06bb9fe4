"""The pages of a cleaning run beside each other: those whose text another one has do not go out."""

from collections import Counter
from collections.abc import Iterator
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
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.records import CrawledUrlRecord, DocumentRecord, Record, SourceRecord
from scrapy_dedup.store.store import Store

_ROWS_AT_ONCE: Final = 500
# Nobody asks when: the store is gone with the run.
_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)


class RunOthers:
    """What went out of a run so far, in a store that lasts as long as the run does; any number of pages."""

    def __init__(self, settings: Settings, folder: str) -> None:
        """Begin with no page; the store stands in a folder that is the run's own."""
        self._settings = settings
        # No row of it must outlive a crash.
        self._store = Store.open(f"sqlite:///{folder}/others.db")
        self._project = self._store.project("clean", KeepPolicy(decisions=0))
        self._others = Others(self._project)
        self._aliases = Aliases()
        self._rules = url_rules(settings)
        self._policy = canonical_policy(settings)
        self._rows: list[Record] = []
        self._unwritten: set[bytes] = set()

    def close(self) -> None:
        """Let go of the store's file."""
        self._store.close()

    def place(self, line: Line, counts: Counter[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a page that goes out, and count what became of it; none where another stands for it."""
        counts["items/in"] += 1
        facts = line.facts
        if facts is None:
            counts["items/out"] += 1
            yield line.row
            return
        layer = self._dropped_by(facts, line.canonical, counts)
        if layer is None:
            rows = list(self._compared(line, facts, counts))
            yield from rows
        else:
            self._note_address(line, facts)
            counts[f"{layer}/dropped"] += 1
            counts["items/dropped"] += 1
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._write()

    def _dropped_by(self, facts: Facts, said: Declaration | None, counts: Counter[str]) -> str | None:
        """Return the layer that drops a page by its address; its text may still say that another has it."""
        for layer, drops in (("url", self._was_met), ("canonical", self._is_alias)):
            if not getattr(self._settings, f"{layer}_enabled") or not drops(facts, said):
                continue
            if self._settings.acts(layer):
                return layer
            counts[f"shadow/{layer}/items"] += 1
        return None

    def _was_met(self, facts: Facts, _said: Declaration | None) -> bool:
        key = facts.page_key
        return key in self._unwritten or key in self._project.document_keys([key])

    def _is_alias(self, facts: Facts, said: Declaration | None) -> bool:
        """Say whether a page is another address of one that went out, or of one that one stood for."""
        aliases = self._aliases
        if self._agrees(facts, aliases.standing.get(facts.page_key, {})):
            return True
        aliases.standing.pop(facts.page_key, None)
        if said is None:
            aliases.pages[facts.domain] += 1
            return False
        found = aliases.judge_declaration(said, facts.page_key, facts.domain, self._policy, self._rules)
        if not isinstance(found, Alias):
            return False
        target = found.target.page_key
        if self._agrees(facts, {target: b"", **aliases.standing.get(target, {})}):
            return True
        aliases.stand(target, facts.page_key, b"")
        return False

    def _agrees(self, facts: Facts, keys: dict[bytes, bytes]) -> bool:
        others = self._others.words_of(keys.keys() - {facts.page_key}, self._settings) if keys else {}
        least = self._policy.agrees_at
        return any(text == facts.text or jaccard(text, facts.text) >= least for text in others.values())

    def _compared(self, line: Line, facts: Facts, counts: Counter[str]) -> Iterator[dict[str, Any]]:
        settings = self._settings
        comparison = compare(self._others, facts, self._others.ask(facts, settings), settings)
        counts.update(comparison.counts())
        self._note(line, facts)
        self._rows += records_of(facts, comparison.same, comparison.chunks, settings, dropped=comparison.dropped)
        if comparison.dropped and comparison.same is not None:
            counts[f"{comparison.same.layer}/dropped"] += 1
            counts["items/dropped"] += 1
            return
        counts["items/out"] += 1
        row = dict(line.row)
        row["dedup"] = row["dedup"] | place_among_others(comparison, settings)
        if settings.emit_chunks:
            yield from _chunk_rows(row, facts, comparison.chunks)
        yield row

    def _note_address(self, line: Line, facts: Facts) -> None:
        """Write down a page's address, so that the page is met only once."""
        key = facts.page_key
        self._unwritten.add(key)
        self._rows.append(CrawledUrlRecord(key, line.row["url"], facts.domain, "crawled", _AT, document_key=key))

    def _note(self, line: Line, facts: Facts) -> None:
        """Write down a page, so that later ones meet it."""
        key, url, domain = facts.page_key, line.row["url"], facts.domain
        self._note_address(line, facts)
        self._rows += [
            DocumentRecord(key, url, domain, "completed", _AT),
            SourceRecord(key, url, domain, "html", "", _AT, cleaned_content=line.row["cleaned_content"]),
        ]

    def _write(self) -> None:
        self._project.write(self._rows)
        self._rows.clear()
        self._unwritten.clear()


def _chunk_rows(row: dict[str, Any], facts: Facts, chunks: PageChunks) -> Iterator[dict[str, Any]]:
    page = {"url": row["url"], "page_key": facts.page_key.hex(), "title": row["title"]}
    for report in chunks_report(chunks):
        yield page | report
