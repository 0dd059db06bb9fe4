"""What the demo prints: what the first crawl kept, and what the second found."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

VERDICTS = ("new", "changed", "unchanged", "removed")

console = Console(highlight=False)


@dataclass(frozen=True)
class Way:
    """What crawling again in one way cost and gave."""

    name: str
    settings: str
    bytes_received: int
    callbacks: int
    items: int


def first_crawl(figures: dict[str, Any]) -> RenderableType:
    """Return what was kept and dropped, from the JSON of `scrapy dedup report`."""
    chars_in = sum(domain["chars_in"] for domain in figures["domains"])
    chars_out = sum(domain["chars_out"] for domain in figures["domains"])
    removed = (chars_in - chars_out) / chars_in if chars_in else 0.0
    pages = figures["pages_fetched"]
    return Group(
        "",
        Text.from_markup(f"[bold]{pages:,}[/] pages in, [bold]{removed:.1%}[/] of their text removed"),
        Text.from_markup(f"[dim]{chars_in:,} characters in, {chars_out:,} kept[/]\n"),
        layer_table(figures["layers"]),
        "",
        block_table(figures["repeated"][:10]),
        "",
    )


def second_crawl(runs: list[dict[str, Any]], recrawl: dict[str, Any] | None) -> RenderableType:
    """Return two crawls side by side.

    Args:
        runs: the JSON of `scrapy dedup runs`, newest first.
        recrawl: of the JSON of `scrapy dedup report`; None where the second crawl met no page of the first.
    """
    second, first = runs[:2]
    if recrawl is None:
        return Text("\nThe second crawl met no page of the first one.\n")
    requests = recrawl["requests"]
    words = ", ".join(f"[bold]{recrawl[verdict]:,}[/] {verdict}" for verdict in VERDICTS)
    both = (first, second)
    rows = [(f"pages {verdict}", *(f"{run['verdicts'].get(verdict, 0):,}" for run in both)) for verdict in VERDICTS]
    rows += [
        ("pages asked for", f"{first['visits']:,}", f"{requests:,}"),
        ("answered “not modified” (304)", "0", f"{recrawl['not_modified']:,}"),
        ("bytes received", *(size(run["bytes_received"]) for run in both)),
        ("callbacks run", *(f"{run['callbacks']:,}" for run in both)),
        ("seconds", *(f"{run['seconds'] or 0:.1f}" for run in both)),
    ]
    return Group(
        "",
        Text.from_markup(f"Second crawl: {words}"),
        Text.from_markup(f"[bold]{size(recrawl['bytes_saved'])}[/] not sent again\n"),
        crawl_table(rows),
        "",
        Text(why_no_bytes(recrawl), style="dim"),
    )


def three_ways(ways: Iterable[Way]) -> RenderableType:
    """Return the ways to crawl again side by side."""
    table = _table("Three ways to crawl again")
    table.add_column("", style="bold")
    table.add_column("settings", style="dim")
    for name in ("received", "callbacks run", "items in the feed"):
        table.add_column(name, justify="right")
    for way in ways:
        figures = (size(way.bytes_received), f"{way.callbacks:,}", f"{way.items:,}")
        table.add_row(way.name, way.settings or "none", *figures)
    return Group(table, "")


def why_no_bytes(recrawl: dict[str, Any]) -> str:
    """Return why a second crawl received as much as the first; "" where it did not."""
    if recrawl["not_modified"] or not recrawl["unchanged"]:
        return ""
    return (
        "No page was answered with “not modified”: the server gives no ETag, or the bytes of all pages had changed, "
        "be it by a date below the text. They were received and compared.\n"
    )


def size(number: float) -> str:
    """Return bytes as people read them, such as 36.3 MB."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000 or unit == "MB":
            break
        number /= 1000
    return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"


def crawl_table(rows: Iterable[tuple[str, ...]]) -> Table:
    """Return the figures of two crawls."""
    table = _table("")
    table.add_column("", style="bold")
    for name in ("first crawl", "second crawl"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def layer_table(layers: list[dict[str, Any]]) -> Table:
    """Return what each layer dropped."""
    table = _table("Dropped, by layer")
    table.add_column("layer", style="bold")
    for name in ("pages", "blocks", "characters"):
        table.add_column(name, justify="right")
    table.add_column("prevents", style="dim")
    for layer in layers:
        figures = [f"{layer[name]:,}" for name in ("pages", "blocks", "chars")]
        table.add_row(Text(plain(layer["layer"])), *figures, Text(plain(layer["prevents"])))
    return table


def block_table(blocks: list[dict[str, Any]]) -> Table:
    """Return the most repeated blocks."""
    table = _table("Most repeated blocks" if blocks else "No block repeats often enough", show_header=bool(blocks))
    counts = [f"{block['on_pages']} of {block['of_pages']}" for block in blocks]
    # Without a bound a long block takes the room of its own count.
    room = max(20, console.width - max(map(len, counts), default=0) - 6)
    table.add_column("on pages", justify="right", style="bold", no_wrap=True)
    table.add_column("block", no_wrap=True, overflow="ellipsis", max_width=room)
    for block, count in zip(blocks, counts, strict=True):
        table.add_row(count, Text(plain(block["text"])[:200]))
    return table


def plain(text: str) -> str:
    """Return foreign text in one line without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _table(title: str, *, show_header: bool = True) -> Table:
    return Table(title=title or None, title_justify="left", box=None, padding=(0, 2, 0, 0), show_header=show_header)
