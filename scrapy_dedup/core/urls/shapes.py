"""What URLs of one kind have in common: path with numbers, dates and tokens masked, and names of parameters."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from scrapy_dedup.core.urls.fields import is_token
from scrapy_dedup.core.urls.normal_form import split_url

_DIGITS: Final = re.compile(r"[0-9]++")
_MONTH: Final = re.compile(
    r"(?<![a-z])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])"
)
# "color-red", "size:m": one word and its value. "hello-world" is told apart by what such pages bring.
_PAIR: Final = re.compile(r"([a-z]{1,30})[-_:=,]([a-z0-9]{1,30})")
_MOST_STEPS: Final = 40
_MOST_NAMES: Final = 20
_MOST_CHARS: Final = 300
_PREFIXES: Final = 3


class UrlShape(NamedTuple):
    """What a URL is like."""

    host: str
    path: str
    names: tuple[str, ...] = ()
    """Of its parameters, sorted, each once, without those whose values are made up by a program."""
    repeats: bool = False
    """Steps of its path come again and again."""
    prefixes: tuple[str, ...] = ()
    """The folders that it stands in, masked, without the root; the outermost first."""

    @property
    def section(self) -> str:
        """The first step of its path."""
        return self.path.split("/", 2)[1]


@lru_cache(maxsize=8_192)
def shape_of(url: str) -> UrlShape | None:
    """Return what a URL is like; None for what is no http(s) URL."""
    parts = split_url(url)
    if parts is None:
        return None
    host = f"{parts.host}:{parts.port}" if parts.port else parts.host
    raw = parts.path.split("/")[1 : _MOST_STEPS + 1]
    # A session in the path is left out, as in a query; a number is not, nor what a path ends with.
    steps = [_masked(step) for step in raw[:-1] if step.isdigit() or not is_token(step)] + [_masked(raw[-1])]
    written = [step for step in parts.path.split("/") if step]
    repeats = len(written) - len(set(written)) > 1 or len(written) > _MOST_STEPS
    if repeats:
        steps = [*dict.fromkeys(step for step in steps if step), "..."]
    # What a program made up (a session) is no choice of anybody's.
    fields = [field.partition("=") for field in parts.query.split("&") if field]
    names = {name[:_MOST_CHARS] for name, _, value in fields if not is_token(value)}
    # A path of filters is a query in other words; its first step is never one.
    pairs = [pair[1] for step in steps[1:] if (pair := _PAIR.fullmatch(step))]
    if pairs:
        names.update(f"/{name}" for name in pairs)
        steps = [steps[0], *(step for step in steps[1:] if not _PAIR.fullmatch(step))]
    prefixes = ["/" + "/".join(steps[:count]) + "/" for count in range(1, min(len(steps), _PREFIXES + 1))]
    path = "/" + "/".join(steps)
    return UrlShape(host, path[:_MOST_CHARS], tuple(sorted(names)[:_MOST_NAMES]), repeats, tuple(prefixes))


def _masked(step: str) -> str:
    if is_token(step):
        return "@"
    return _MONTH.sub("#", _DIGITS.sub("#", step[:_MOST_CHARS].lower()))
