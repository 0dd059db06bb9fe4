"""The objects of a page's JSON-LD, whatever their shape; articles and posts first."""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

# Far above what pages hold.
_MOST_OBJECTS: Final = 2_000
_MOST_NAMES: Final = 10
_POSTING: Final = re.compile(r"Article|Posting|Report|QAPage|Question|Recipe|Review")
_SITE: Final = re.compile(r"WebSite|Organization|Brand")

Thing = dict[str, Any]


def things_of(texts: Iterable[str]) -> list[Thing]:
    """Return every object in page order, breadth first; texts that are no JSON give none."""
    found: list[Thing] = []
    queue: deque[Any] = deque()
    for text in texts:
        try:
            queue.append(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            continue
    while queue and len(found) < _MOST_OBJECTS:
        value = queue.popleft()
        if isinstance(value, dict):
            found.append(value)
            queue.extend(inner for inner in value.values() if isinstance(inner, dict | list))
        elif isinstance(value, list):
            queue.extend(inner for inner in value[:_MOST_OBJECTS] if isinstance(inner, dict | list))
    return found


def values_of(things: list[Thing], key: str) -> Iterator[Any]:
    """Give the values of a key: those of articles and posts first, then those of anything else."""
    for wanted in (True, False):
        for thing in things:
            if key in thing and bool(_POSTING.search(type_of(thing))) is wanted:
                yield thing[key]


def names_of(value: object, things: list[Thing]) -> list[str]:
    """Return the names of a person or organisation, or of several; references are looked up."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [name for one in value[:_MOST_NAMES] if not isinstance(one, list) for name in names_of(one, things)]
    if not isinstance(value, dict):
        return []
    name = value.get("name")
    if name is None and "@id" in value:
        name = next((t["name"] for t in things if t.get("@id") == value["@id"] and "name" in t), None)
    if isinstance(name, list):
        name = next((one for one in name if isinstance(one, str)), None)
    return [name] if isinstance(name, str) else []


def site_names_of(things: list[Thing]) -> list[str]:
    """Return what sites and organisations are called."""
    return [thing["name"] for thing in things if _SITE.search(type_of(thing)) and isinstance(thing.get("name"), str)]


def type_of(thing: Thing) -> str:
    """Return the `@type`; several are joined by a blank."""
    kind = thing.get("@type")
    if isinstance(kind, list):
        return " ".join(one for one in kind if isinstance(one, str))
    return kind if isinstance(kind, str) else ""
