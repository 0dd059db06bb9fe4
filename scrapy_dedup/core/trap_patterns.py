"""Patterns of URLs that are judged together, from one shape with its parameters to all that stands in a folder."""

from collections.abc import Iterator
from enum import StrEnum

from scrapy_dedup.core.pagination import is_part_name
from scrapy_dedup.core.url_shapes import Shape


class Kind(StrEnum):
    """By what a pattern holds URLs together."""

    EXACT = "exact"  # one shape of path and one set of parameters
    NAME = "name"  # one shape of path and one parameter, whatever the others
    ANY = "any"  # one shape of path with any parameters
    HOST = "host"  # one parameter, whatever the path
    PREFIX = "prefix"  # all that stands in one folder


class TrapReason(StrEnum):
    """What kind of trap it is."""

    REPEATS = "repeated steps in the path"
    PARAMETERS = "combinations of parameters"
    ENDLESS = "pages without news"


def levels(shape: Shape) -> Iterator[tuple[Kind, str]]:
    """Yield the patterns that a URL belongs to, the narrowest first."""
    yield Kind.EXACT, exact(shape)
    for name in shape.names:
        yield Kind.NAME, name_pattern(shape, name)
    if shape.names:
        yield Kind.ANY, any_of(shape)
    for name in shape.names:
        if not name.startswith("/") and not is_part_name(name):
            yield Kind.HOST, f"{shape.host}/**?*{name}*"
    for prefix in reversed(shape.prefixes):
        yield Kind.PREFIX, f"{shape.host}{prefix}**"


def exact(shape: Shape) -> str:
    """Return the pattern of one shape of path and one set of parameters."""
    return f"{shape.host}{shape.path}?{'&'.join(shape.names)}" if shape.names else shape.host + shape.path


def any_of(shape: Shape) -> str:
    """Return the pattern of one shape of path with any parameters."""
    return f"{shape.host}{shape.path}?*"


def name_pattern(shape: Shape, name: str) -> str:
    """Return the pattern of one shape of path and one parameter."""
    return f"{shape.host}{shape.path}?*{name}*"


def reason_of(kind: Kind, shape: Shape) -> TrapReason:
    """Return what kind of trap a pattern of a URL would be."""
    if shape.repeats:
        return TrapReason.REPEATS
    return TrapReason.PARAMETERS if kind in (Kind.NAME, Kind.ANY, Kind.HOST) else TrapReason.ENDLESS
