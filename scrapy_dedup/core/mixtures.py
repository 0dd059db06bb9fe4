"""Paths whose steps come in any order or number, as filters and tags do: "/red/wood/", "/wood/red/", "/tag/a+b"."""

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit

_MOST: Final = 200_000
_MOST_STEPS: Final = 20
_JOINED: Final = re.compile(r"[+,|&~]|%2[0bc]|%7c", re.IGNORECASE)
"""What stands between several choices in one step of a path."""


def choices_of(step: str) -> list[str]:
    """Return what a step of a path is made of, mostly itself alone."""
    return _JOINED.split(step)


@dataclass(slots=True)
class Mixtures:
    """What a crawl knows of the places in which steps of paths stand."""

    most: int = _MOST
    _places: dict[int, int] = field(default_factory=dict)
    """By section and step, where it was met first; -1 if in several places."""

    def meet(self, url: str) -> None:
        """Note the steps of a URL."""
        for key, at in _steps(url):
            known = self._places.get(key)
            if known is None and len(self._places) < self.most:
                self._places[key] = at
            elif known is not None and known != at:
                self._places[key] = -1

    def is_mixed(self, url: str) -> bool:
        """Say whether a path is made of known steps, of which some stand elsewhere, too."""
        steps = _steps(url)
        if len(steps) < 2:
            return False
        found = [(self._places.get(key), at) for key, at in steps]
        return all(known is not None for known, _ in found) and any(known != at for known, at in found)

    def as_parameters(self, url: str) -> str:
        """Return a URL with the same steps as parameters, for all of which one pattern holds."""
        parts = urlsplit(url)
        section = parts.path.split("/", 2)[1]
        return f"{parts.scheme}://{parts.netloc}/{section}?(steps)=mixed" + (f"&{parts.query}" if parts.query else "")


def _steps(url: str) -> list[tuple[int, int]]:
    """Return steps behind the first as numbers, each with its place; those of several choices stand nowhere."""
    parts = urlsplit(url)
    section, *steps = parts.path.strip("/").split("/")[:_MOST_STEPS]
    found = []
    for at, step in enumerate(steps):
        several = choices_of(step)
        for one in several if len(several) > 1 else [step]:
            # Numbers mean something by their place, and come again by chance.
            if one and not one.isdigit():
                text = f"{parts.netloc}/{section}/{one}".encode("utf-8", "surrogatepass")
                found.append((int.from_bytes(blake2b(text, digest_size=8).digest(), "big"), at - len(several) + 1))
    return found
