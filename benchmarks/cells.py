"""Tables of Markdown, and what stands in their cells."""

from collections.abc import Iterator, Sequence


def table(head: Sequence[str], rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def verdict(met: bool) -> str:  # noqa: FBT001 (the one thing it says)
    """Return what stands behind a target."""
    return "" if met else ", **missed**"


def bold(text: str, ours: bool) -> str:  # noqa: FBT001 (as above)
    """Return a text, ours in bold."""
    return f"**{text}**" if ours else text


def median(numbers: Sequence[float]) -> float:
    """Return the median."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def rounded(number: float) -> str:
    """Return a number with its first digits."""
    return f"{round(number, -1 if number < 1000 else -2):,.0f}"


def plain(value: object) -> str:
    """Return any value as the text of a cell."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(plain, value)) or "none"
    text = f"{value:,}" if isinstance(value, int | float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
