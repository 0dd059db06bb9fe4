"""Numbers as people read them, and the figures of the ledger."""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrapy_dedup.report.values import Ledger, LedgerRow, LedgerTable

NO_BREAK = "\N{NO-BREAK SPACE}"


def whole(number: int) -> str:
    """Return 12,345 for 12345."""
    return f"{number:,}"


def short(number: int) -> str:
    """Return at most three figures and a unit: 950, 12.3 k, 4.6 M."""
    if number < 1000:
        return str(number)
    size, unit = number / 1000, "k"
    # 999.5 and not 1000: 999,999 reads 1.0 M, never 1000 k.
    for larger in ("M", "G"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    figure = f"{size:.1f}" if size < 99.95 else f"{size:.0f}"
    return f"{figure}{NO_BREAK}{unit}"


def percent(part: int, total: int) -> str:
    """Return a share such as 41 % or 0.4 %; never 0 % for something, never 100 % for not quite all."""
    if total <= 0 or part <= 0:
        return f"0{NO_BREAK}%"
    share = 100 * part / total
    if part < total and share > 99.9:
        return f">99.9{NO_BREAK}%"
    if share < 0.1:
        return f"<0.1{NO_BREAK}%"
    figure = f"{share:.0f}" if 9.95 <= share <= 99 or part >= total else f"{share:.1f}"
    return f"{figure}{NO_BREAK}%"


def count(number: int, thing: str) -> str:
    """Return the number with its noun: 1 page, 2 pages."""
    return f"{whole(number)} {thing}" if number == 1 else f"{whole(number)} {thing}s"


def lasting(took: timedelta) -> str:
    """Return a time in its two largest units: 4 s, 3 min 20 s, 2 h 05 min, 3 d 4 h."""
    seconds = max(round(took.total_seconds()), 0)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        parts = [f"{days} d", f"{hours} h"]
    elif hours:
        parts = [f"{hours} h", f"{minutes:02} min"]
    elif minutes:
        parts = [f"{minutes} min", f"{seconds} s"]
    else:
        parts = [f"{seconds} s"]
    return " ".join(parts).replace(" ", NO_BREAK)


def number(figure: float) -> str:
    """Return a whole number as one, and another with three places."""
    return whole(int(figure)) if float(figure).is_integer() else f"{figure:,.3f}"


NONE: Final = "\N{EN DASH}"
"""A figure that there is not."""
COLUMNS: Final = ("Pages", "Blocks", "Chunks", "Characters", "Tokens")


def tokens_line(ledger: "Ledger") -> str:
    """Return how tokens were counted, and that some figures are about."""
    told = f"Tokens: {ledger.tokens_by}."
    tables = (ledger.run, ledger.all_runs)
    if any(row.is_about for one in tables if one is not None for row in one.rows):
        told += " ~: as much as the pages have that stand for those which were dropped."
    return told


def figures_of(row: "LedgerRow") -> list[str]:
    """Return a row's figures in the order of COLUMNS; about ones begin with ~."""
    about = "~" if row.is_about else ""
    return [
        NONE if row.pages is None else whole(row.pages),
        NONE if row.blocks is None else whole(row.blocks),
        NONE if row.chunks is None else about + whole(row.chunks),
        NONE if row.chars is None else about + short(row.chars),
        NONE if row.tokens is None else about + short(row.tokens),
    ]


def amounts_of(run: "LedgerTable") -> list[tuple[str, str, str, str]]:
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
