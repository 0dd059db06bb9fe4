"""The ledger: what each layer spared, of one run and of all, from the counts that runs leave and from the store."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from scrapy_dedup.report.ledger_values import Ledger, LedgerTable, SharedChunk
from scrapy_dedup.service.ledger_aliases import Pair, group_aliases
from scrapy_dedup.service.ledger_table import Span, Tokens, checks_of, estimated, make_table
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.ledger_reads import DroppedPages, LedgerReads, StoredShare
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredRun
from scrapy_dedup.store.writer import ProjectStore

PREFIX: Final = "dedup/"
ELAPSED: Final = "elapsed_time_seconds"
ALIAS_GROUPS: Final = 20
SHARED_CHUNKS: Final = 10
# Of so many addresses the patterns are right; more would not fit into memory on every machine.
_MOST_ALIASES: Final = 200_000
_KEEPERS: Final = 3
_OTHERS: Final = 3


def make_ledger(
    store: Store,
    project: ProjectStore,
    settings: Settings,
    runs: Sequence[StoredRun],
    chosen: StoredRun | None,
    *,
    lists: bool = True,
) -> Ledger | None:
    """Return what deduplication spared; None where no run left counts.

    Args:
        store: of the project.
        project: to report on.
        settings: say how tokens are counted.
        runs: of the project, newest first.
        chosen: the run to report on; None for the last one, with the sum over all.
        lists: with domains, aliases and shared chunks, each of which reads the whole project.

    Raises:
        StoreError: the store failed.
    """
    counted = [run for run in runs if counts_of_run(run)]
    shown = chosen or next(iter(counted), None)
    if shown is None:
        return None
    with store.session(read_only=True) as session:
        of_run = LedgerReads(session, project.id, shown.id).dropped()
        reads = LedgerReads(session, project.id, chosen.id if chosen is not None else None)
        # Without a tokenizer the sizes say nothing, and there may be millions of them.
        sizes = reads.chunk_sizes() if settings.chunk_tokenizer else (0, 0)
        tokens = tokens_of(settings, *sizes)
        table = _table([shown], tokens, settings, of_run)
        several = chosen is None and len(counted) > 1
        all_runs = _table(counted, tokens, settings, reads.dropped()) if several else None
        told = Ledger(run=table, all_runs=all_runs, tokens_by=tokens.by, is_estimate=tokens.is_estimate)
        return _with_lists(told, reads) if lists else told


def _with_lists(ledger: Ledger, reads: LedgerReads) -> Ledger:
    """Return the ledger with what is stored now."""
    aliases = [Pair(one.url, one.target, one.found_by) for one in reads.aliases(_MOST_ALIASES)]
    return replace(
        ledger,
        domains=tuple(reads.domains()),
        aliases=tuple(group_aliases(aliases)[:ALIAS_GROUPS]),
        shared=tuple(_shared(one) for one in reads.shared(SHARED_CHUNKS)),
    )


def counts_of_run(run: StoredRun) -> dict[str, float]:
    """Return what a run counted, by the names of its stats without `dedup/`."""
    return {
        name.removeprefix(PREFIX): number
        for name, number in run.stats.items()
        if name.startswith(PREFIX) and isinstance(number, int | float)
    }


def tokens_of(settings: Settings, size: int, chars: int) -> Tokens:
    """Return how characters become tokens.

    Args:
        settings: name the tokenizer, if there is one.
        size: of all stored chunks together, as it was measured when they were made.
        chars: of those.
    """
    # Equal figures are characters: the chunks were made before there was a tokenizer.
    if not settings.chunk_tokenizer or not size or size == chars:
        return estimated()
    by = f"{settings.chunk_tokenizer} counted {size:,} for the {chars:,} characters of the stored chunks; in proportion"
    return Tokens(size / chars, by, is_estimate=False)


def _table(
    runs: Sequence[StoredRun], tokens: Tokens, settings: Settings, dropped: Mapping[str, DroppedPages]
) -> LedgerTable:
    seconds = (run.stats.get(ELAPSED, 0.0) for run in runs)
    elapsed = sum(one for one in seconds if isinstance(one, int | float))
    began = min(run.started_at for run in runs)
    table = make_table(_sums(runs), tokens, settings, dropped, Span(len(runs), began, elapsed))
    ended = [run for run in runs if run.finished_at is not None]
    # What is under way, or was when a run was killed, is counted on one side alone.
    return table if len(ended) == len(runs) else replace(table, checks=checks_of(_sums(ended)))


def _sums(runs: Iterable[StoredRun]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for run in runs:
        for name, number in counts_of_run(run).items():
            sums[name] += number  # type: ignore[assignment]  # seconds are fractions
    return sums


def _shared(one: StoredShare) -> SharedChunk:
    keepers = tuple(url for url, gives in one.places if gives)
    others = tuple(url for url, gives in one.places if not gives)
    return SharedChunk(one.sample, one.chars, one.pages, keepers[:_KEEPERS], others[:_OTHERS])
