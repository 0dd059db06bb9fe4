"""The figures of the ledger: what each layer spared, what came in and went out."""

from typing import Final

from scrapy_dedup.report.numbers import percent, short, whole
from scrapy_dedup.report.values import Ledger, LedgerRow, LedgerTable

NONE: Final = "\N{EN DASH}"
"""A figure that there is not."""
COLUMNS: Final = ("Pages", "Blocks", "Chunks", "Characters", "Tokens")


def tokens_line(ledger: Ledger) -> str:
    """Return how tokens were counted, and that some figures are about."""
    told = f"Tokens: {ledger.tokens_by}."
    tables = (ledger.run, ledger.all_runs)
    if any(row.is_about for one in tables if one is not None for row in one.rows):
        told += " ~: as much as the pages have that stand for those which were dropped."
    return told


def figures_of(row: LedgerRow) -> list[str]:
    """Return a row's figures in the order of COLUMNS; about ones begin with ~."""
    about = "~" if row.is_about else ""
    return [
        NONE if row.pages is None else whole(row.pages),
        NONE if row.blocks is None else whole(row.blocks),
        NONE if row.chunks is None else about + whole(row.chunks),
        NONE if row.chars is None else about + short(row.chars),
        NONE if row.tokens is None else about + short(row.tokens),
    ]


def amounts_of(run: LedgerTable) -> list[tuple[str, str, str, str]]:
    """Return (what, before, after, saved); before is about where it counts pages that were left out whole."""
    before, after, about = run.before, run.after, run.about
    found = [("Items", whole(before.items), whole(after.items), percent(before.items - after.items, before.items))]
    for name, was, more, now in (
        ("Chunks", before.chunks, about.chunks, after.chunks),
        ("Characters", before.chars, about.chars, after.chars),
        ("Tokens", before.tokens, about.tokens, after.tokens),
    ):
        together = was + more
        found.append((name, f"{'~' if more else ''}{whole(together)}", whole(now), percent(together - now, together)))
    return found
