"""The parts of a URL that may carry nothing: parameters, and steps of the path that a program made up.

A "parameter" is one of the query, a named one of the path (";sid=4f2a"), or a step of the path that looks made up,
known by its place ("/@1" is the second step).
"""

import re
from collections.abc import Collection
from typing import Final

_HOST: Final = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#]+)", re.IGNORECASE)
_TOKEN: Final = re.compile(
    # Letters and digits that change places more than once: "4f2a9c", not "product17".
    r"(?:[A-Za-z]{1,4}[_.=-])?\(?(?=[0-9]*+[A-Za-z]++[0-9]++[A-Za-z]|[A-Za-z]*+[0-9]++[A-Za-z]++[0-9])"
    r"(?:[A-Za-z0-9]{8,}|[0-9a-f]{6,})\)?"
    r"|[A-Z]{8,}|[0-9]{8,}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    # Base64 as it stands in URLs.
    r"|(?=[^A-Z]*+[A-Z])(?=[^a-z]*+[a-z])(?=[^0-9]*+[0-9])[A-Za-z0-9_-]{16,}"
)
_LONGEST_TOKEN: Final = 300
_STEP: Final = "/@"
_MOST_STEPS: Final = 12
_MOST_NAMES: Final = 64
"""Of one URL; hostile links have as many as they like."""


def is_token(value: str) -> bool:
    """Say whether a value looks like what a program makes up: an id of a session, a number of many digits."""
    return len(value) <= _LONGEST_TOKEN and _TOKEN.fullmatch(value) is not None


def host_of(url: str) -> str:
    """Return host and port as they stand in a URL, in lower case; empty where there is none."""
    match = _HOST.match(url)
    return match[1].lower() if match else ""


def names_in(url: str) -> list[str]:
    """Return the parameters of a URL, each once, in order."""
    path, query = _path_and_query(url)
    steps = path.split("/")[1:]
    names = [one.partition("=")[0] for step in steps for one in _named(step)]
    names += [f"{_STEP}{at}" for at, step in enumerate(steps[:_MOST_STEPS]) if is_token(step)]
    names += [pair.partition("=")[0] for pair in query.split("&") if pair]
    return list(dict.fromkeys(names))[:_MOST_NAMES]


def values_in(url: str, names: Collection[str]) -> list[str]:
    """Return the values of some parameters of a URL."""
    path, query = _path_and_query(url)
    steps = path.split("/")[1:]
    found = [pair.partition("=")[2] for pair in query.split("&") if pair.partition("=")[0] in names]
    found += [one.partition("=")[2] for step in steps for one in _named(step) if one.partition("=")[0] in names]
    return found + [step for at, step in enumerate(steps[:_MOST_STEPS]) if f"{_STEP}{at}" in names]


def without(url: str, names: Collection[str]) -> str:
    """Return a URL without some of its parameters; the same object where it has none of them."""
    head, mark, fragment = url.partition("#")
    start, query_mark, query = head.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair.partition("=")[0] not in names)
    host_end = start.find("/", start.find("//") + 2)
    if host_end >= 0 and any(name.startswith((_STEP, ";")) for name in names):
        start = start[:host_end] + _path_without(start[host_end:], names)
    result = start + (query_mark + kept if kept or not query else "") + mark + fragment
    return url if result == url else result


class IgnoredParameters:
    """By host, the parameters that are left out of page keys. One object for all who make keys in a crawl."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def of(self, host: str) -> frozenset[str]:
        """Return the names for a host."""
        return self._names.get(host, frozenset())

    def add(self, host: str, name: str) -> None:
        """Leave a parameter out from now on."""
        self._names[host] = self.of(host) | {name}

    def remove(self, host: str, name: str) -> None:
        """Leave it in again."""
        self._names[host] = self.of(host) - {name}

    def without(self, url: str) -> str:
        """Return a URL without the parameters that are ignored on its host."""
        names = self._names.get(host_of(url)) if self._names else None
        return without(url, names) if names else url


def _path_and_query(url: str) -> tuple[str, str]:
    start, _, query = url.partition("#")[0].partition("?")
    host_end = start.find("/", start.find("//") + 2)
    return (start[host_end:] if host_end >= 0 else "/"), query


def _named(step: str) -> list[str]:
    """Return the parameters of a step: ";name=value" each."""
    return [f";{one}" for one in step.split(";")[1:] if one]


def _path_without(path: str, names: Collection[str]) -> str:
    kept = [""]
    for at, step in enumerate(path.split("/")[1:]):
        if f"{_STEP}{at}" in names and is_token(step):
            continue
        named = [one for one in _named(step) if one.partition("=")[0] not in names]
        kept.append(step.partition(";")[0] + "".join(named))
    return "/".join(kept) if len(kept) > 1 else "/"
