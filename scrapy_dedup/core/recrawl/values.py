"""Values of items as JSON and back, without pickle: the same value of the same type, or a reason why not."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct

from scrapy_dedup.core.errors import DedupError

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

# What JSON has no word for is {TAG: name, "v": value}; dicts that have such a key themselves are tagged, too.
TAG: Final = "$"
# Other readers of JSON know integers to this size, and json refuses those of over 4,300 digits.
_PLAIN_INT: Final = 2**53
_MOST_INT_BITS: Final = 100_000


class UnkeepableReason(StrEnum):
    """Why a value cannot be kept."""

    TYPE = "type"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"


class Unkeepable(Struct, frozen=True):
    """The value has no form that comes back as it was; *detail* names what stood in the way."""

    reason: UnkeepableReason
    detail: str


class KeepLimits(Struct, frozen=True):
    """How much of a value is kept. A value that holds itself is too deep."""

    depth: int = 50
    values: int = 100_000
    """Members of lists and dicts, at all levels."""
    characters: int = 16_000_000
    """Of all texts and bytes."""


DEFAULT_LIMITS: Final = KeepLimits()
# A level of a value is three of JSON: the tag, the list of pairs, the pair.
_DECODED_DEPTH: Final = 3 * DEFAULT_LIMITS.depth + 3


class DamagedValueError(DedupError):
    """What was to be read back is not what `encode` writes."""


def encode(value: object, limits: KeepLimits = DEFAULT_LIMITS) -> Json | Unkeepable:
    """Return what `json.dumps` can write and `decode` turns back into an equal value of the same type.

    Types are taken literally: an instance of a subclass (an enum, a named tuple) would come back as another.
    """
    try:
        return _Encoder(limits).encode(value, limits.depth)
    except _UnkeepableError as error:
        return error.why


def decode(kept: Json) -> Any:
    """Return the value.

    Raises:
        DamagedValueError: it is not what `encode` returned.
    """
    try:
        return _decode(kept, _DECODED_DEPTH)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        shown = repr(kept)[:80]
        raise DamagedValueError(f"kept value {shown}: damaged; the page has to be extracted again") from error


class _UnkeepableError(Exception):
    def __init__(self, reason: UnkeepableReason, detail: str) -> None:
        self.why = Unkeepable(reason, detail)


class _Encoder:
    def __init__(self, limits: KeepLimits) -> None:
        self.values = limits.values
        self.characters = limits.characters

    def encode(self, value: object, depth: int) -> Json:
        kind = type(value)
        self.values -= 1
        if self.values < 0:
            raise _UnkeepableError(UnkeepableReason.TOO_LARGE, "values")
        if depth < 0:
            raise _UnkeepableError(UnkeepableReason.TOO_DEEP, kind.__name__)
        if isinstance(value, str | bytes):
            self.characters -= len(value)
            if self.characters < 0:
                raise _UnkeepableError(UnkeepableReason.TOO_LARGE, "characters")
            if kind is str and value.isascii():
                return value  # type: ignore[return-value]  # most of all values
        if value is None or kind is bool:
            return value  # type: ignore[return-value]
        if kind in _ENCODERS:
            return _ENCODERS[kind](value)
        return self._encode_many(value, depth - 1)

    def _encode_many(self, value: Any, depth: int) -> Json:
        kind = type(value)
        if kind is list:
            return [self.encode(one, depth) for one in value]
        if kind is tuple:
            return _tagged("tuple", [self.encode(one, depth) for one in value])
        if kind in (set, frozenset):
            # In an order that does not depend on the process.
            return _tagged(kind.__name__, sorted((self.encode(one, depth) for one in value), key=_order))
        if kind is dict:
            pairs: list[tuple[Json, Json]] = [(self.encode(k, depth), self.encode(v, depth)) for k, v in value.items()]
            if TAG not in value and all(type(key) is str for key, _ in pairs):
                return {str(key): one for key, one in pairs}
            return _tagged("dict", [[key, one] for key, one in pairs])
        raise _UnkeepableError(UnkeepableReason.TYPE, kind.__qualname__)


def _tagged(name: str, value: Json) -> dict[str, Json]:
    return {TAG: name, "v": value}


def _order(one: Json) -> str:
    return json.dumps(one, sort_keys=True)


def _encode_str(value: str) -> Json:
    # Two lone surrogates side by side would come back as one character.
    lone = _SURROGATE.search(value)
    return _tagged("str", _base64(value.encode("utf-8", "surrogatepass"))) if lone else value


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _encode_int(value: int) -> Json:
    if value.bit_length() > _MOST_INT_BITS:
        raise _UnkeepableError(UnkeepableReason.TOO_LARGE, "int")
    return value if -_PLAIN_INT <= value <= _PLAIN_INT else _tagged("int", hex(value))


def _encode_float(value: float) -> Json:
    finite = value - value == 0
    return value if finite else _tagged("float", repr(value))


def _encode_time(value: datetime | time) -> Json:
    naive = value.replace(tzinfo=None, fold=0).isoformat()
    return _tagged(type(value).__name__, [naive, value.fold, _zone(value.tzinfo, value.utcoffset())])


def _zone(zone: tzinfo | None, offset: timedelta | None) -> Json:
    """Return a zone's name, or microseconds from UTC."""
    if zone is None:
        return None
    if type(zone) is ZoneInfo and zone.key:
        return zone.key
    if offset is None:
        raise _UnkeepableError(UnkeepableReason.TYPE, type(zone).__qualname__)
    return offset // timedelta(microseconds=1)


def _base64(value: bytes) -> str:
    return b64encode(value).decode("ascii")


_ENCODERS: Final[Mapping[type, Callable[[Any], Json]]] = {
    str: _encode_str,
    int: _encode_int,
    float: _encode_float,
    bytes: lambda value: _tagged("bytes", _base64(value)),
    datetime: _encode_time,
    time: _encode_time,
    date: lambda value: _tagged("date", value.isoformat()),
    timedelta: lambda value: _tagged("timedelta", [value.days, value.seconds, value.microseconds]),
    Decimal: lambda value: _tagged("decimal", str(value)),
    UUID: lambda value: _tagged("uuid", value.hex),
}


def _decode(kept: Json, depth: int) -> Any:
    if depth < 0:
        raise ValueError("too deep")
    if isinstance(kept, list):
        return [_decode(one, depth - 1) for one in kept]
    if not isinstance(kept, dict):
        return kept
    if TAG not in kept:
        return {key: _decode(one, depth - 1) for key, one in kept.items()}
    name, value = kept[TAG], kept["v"]
    if name in _MANY:
        return _MANY[str(name)](_decode(value, depth - 1))
    return _DECODERS[str(name)](value)


def _at_zone(value: Any, fold: int, zone: str | int | None) -> Any:
    return value.replace(fold=fold, tzinfo=_zone_of(zone))


def _zone_of(zone: str | int | None) -> tzinfo | None:
    if zone is None:
        return None
    return ZoneInfo(zone) if isinstance(zone, str) else timezone(timedelta(microseconds=zone))


_MANY: Final[Mapping[str, Callable[[Any], Any]]] = {"tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict}
_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "str": lambda value: b64decode(value, validate=True).decode("utf-8", "surrogatepass"),
    "int": lambda value: int(value, 16),
    "float": float,
    "bytes": lambda value: b64decode(value, validate=True),
    "datetime": lambda value: _at_zone(datetime.fromisoformat(value[0]), *value[1:]),
    "time": lambda value: _at_zone(time.fromisoformat(value[0]), *value[1:]),
    "date": date.fromisoformat,
    "timedelta": lambda value: timedelta(*value),
    "decimal": Decimal,
    "uuid": UUID,
}
