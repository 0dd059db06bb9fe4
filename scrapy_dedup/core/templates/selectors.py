"""A template's verdicts as CSS selectors that a person can read and use elsewhere."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapy_dedup.core.boilerplate.path_names import parts_of
from scrapy_dedup.core.boilerplate.path_verdicts import PathVerdict


@dataclass(frozen=True, slots=True)
class Selectors:
    """The content is what *content* selects, without what *exclude* selects."""

    content: tuple[str, ...]
    """The main columns, that of most pages first."""
    beside: tuple[str, ...]
    """Other elements that are kept, such as a header with the page's title."""
    exclude: tuple[str, ...]
    """Only the outermost elements that are dropped."""
    without_own_text: tuple[str, ...]
    """Elements that stay, but not the text that stands in them beside their children; CSS cannot select text."""


def selectors_of(containers: Sequence[str], verdicts: Mapping[str, PathVerdict]) -> Selectors:
    """Return the verdicts of a template as selectors.

    Args:
        containers: paths of the main columns.
        verdicts: by folded path.
    """
    ways = {path for container in containers for path in _with_above(container)}
    keeping = {above for path, verdict in verdicts.items() if verdict.keep for above in _with_above(path)}
    whole = [path for path in verdicts if path not in keeping]
    beside = [path for path in verdicts if path in keeping and path not in ways and path.rpartition(">")[0] in ways]
    inside = tuple(f"{container}>" for container in containers)
    return Selectors(
        content=tuple(map(selector, containers)),
        beside=tuple(selector(path) for path in beside if not path.startswith(inside)),
        exclude=tuple(selector(path) for path in whole if path.rpartition(">")[0] in keeping),
        without_own_text=tuple(
            selector(path) for path, verdict in verdicts.items() if path in keeping and not verdict.keep
        ),
    )


def _with_above(path: str) -> list[str]:
    steps = path.split(">")
    return [">".join(steps[:length]) for length in range(1, len(steps) + 1)]


def selector(path: str) -> str:
    """Return CSS for a path; it begins at the last element with an id, which stands for all above it."""
    steps = path.split(">")
    start = max((at for at, step in enumerate(steps) if "#" in step), default=0)
    return " > ".join(map(_step, steps[start:]))


_UNSAFE = re.compile(r"[^\w-]|^(?=\d|-)")


def _step(step: str) -> str:
    tag, *names = parts_of(step)
    return _escaped(tag) + "".join(_name(name) for name in names)


def _name(name: str) -> str:
    """Return CSS for an id or class. Digits were masked as 0 there: `col-0` selects all that hold `col-`."""
    stem = max(name[1:].split("0"), key=len)
    if name[0] == "." and "0" in name and stem:
        quoted = stem.replace("\\", r"\\").replace('"', r"\"")
        return f'[class*="{quoted}"]'
    return name[0] + _escaped(name[1:])


def _escaped(name: str) -> str:
    return _UNSAFE.sub(lambda found: f"\\{found[0]}" if found[0] else "\\", name)
