"""Records as plain JSON and back: what comes from a file is believed in nothing, neither type nor size."""

import math
import types
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from scrapy_dedup.core import keeping
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.keeping import DamagedValueError
from scrapy_dedup.store.records import (
    BoilerplateRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    Evidence,
    ExtractionRecord,
    SourceRecord,
    ValidatorRecord,
)

_Kind = TypeVar(
    "_Kind",
    BoilerplateRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    SourceRecord,
    ValidatorRecord,
)

_HINTS: Final = {kind.__name__: get_type_hints(kind) for kind in _Kind.__constraints__}
# Integer columns of PostgreSQL; SQLite's are larger.
_MOST: Final = 2**31 - 1
# Of columns that are no longer than that.
_MOST_CHARS: Final = {"verdict": 16, "layer": 32, "action": 32, "method": 16}
_MOST_SHOWN: Final = 60
# 16 bytes: keys, and hashes of an earlier version.
_KEYS: Final = {"page_key", "memo_key", "document_key", "cleaned_hash", "links_hash"}
_FINGERPRINT_BYTES: Final = 8
_DETAIL_DEPTH: Final = 8


class WrongValueError(DedupError):
    """What stands in a file is not what an export writes."""


def to_plain(record: object, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Return a record as JSON has it: bytes in base64, times in ISO 8601; what is None is left out."""
    values = ((field.name, getattr(record, field.name)) for field in fields(record))  # type: ignore[arg-type]
    return {name: plain_value(value) for name, value in values if value is not None and name not in leave_out}


def from_plain(kind: type[_Kind], plain: object, **known: Any) -> _Kind:
    """Return the record that `to_plain` was given.

    Args:
        kind: of the record.
        plain: as it was read.
        known: fields that are not taken from it.

    Raises:
        WrongValueError: it is none; the message names the field.
    """
    if not isinstance(plain, dict):
        raise WrongValueError(f"{kind.__name__}: needs an object, and is {_shown(plain)}")
    hints, values = _HINTS[kind.__name__], dict(known)
    for field in fields(kind):
        if field.name in known:
            continue
        if field.name in plain:
            values[field.name] = _checked(field.name, plain[field.name], hints[field.name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise WrongValueError(f"{field.name}: is missing")
    return kind(**values)


def read_time(plain: object) -> datetime:
    """Return a time that `to_plain` wrote.

    Raises:
        WrongValueError: it is none.
    """
    read: datetime = _checked("time", plain, datetime)
    return read


def plain_value(value: Any) -> Any:
    """Return a field's value as JSON has it."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value


def _checked(name: str, value: object, hint: Any) -> Any:
    """Return a field's value, as its type asks for it."""
    if get_origin(hint) in (Union, types.UnionType):
        if value is None:
            return None
        hint = next(one for one in get_args(hint) if one is not types.NoneType)
    try:
        return _read(name, value, hint)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise WrongValueError(f"{name}: {_shown(value)} is not what belongs there") from error


def _read(name: str, value: Any, hint: Any) -> Any:
    special = _SPECIAL.get(name)
    if special is not None:
        return special(value)
    if get_origin(hint) is Literal:
        return _among(value, get_args(hint))
    if hint is bytes:
        return _bytes(name, value)
    if hint is datetime:
        return _time(value)
    if hint is str:
        return _text(value, _MOST_CHARS.get(name))
    if hint in (int, float):
        return _number(value, hint)
    raise TypeError(name)


def _among(value: object, allowed: Sequence[object]) -> Any:
    if value not in allowed:
        raise ValueError(value)
    return value


def _bytes(name: str, value: str) -> bytes:
    read = b64decode(value, validate=True)
    if (name in _KEYS and len(read) != 16) or (name == "content_hash" and len(read) not in (16, 32)):
        raise ValueError(name)
    if name == "blocks" and len(read) % _FINGERPRINT_BYTES:
        raise ValueError(name)
    return read


def _time(value: str) -> datetime:
    read = datetime.fromisoformat(value)
    if read.tzinfo is None:
        raise ValueError(value)
    return read.astimezone(UTC)


def _text(value: object, most: int | None = None) -> str:
    if not isinstance(value, str) or (most is not None and len(value) > most):
        raise TypeError
    return value


def _number(value: Any, kind: type[int] | type[float]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
        raise TypeError
    if not math.isfinite(value) or abs(value) > _MOST:
        raise ValueError
    return kind(value)


def _requests(value: Any) -> list[Any]:
    """Check the entries: runs of plain requests, others in kept form, or why there are none."""
    for entry in _list(value):
        if isinstance(entry, list):
            first, others = entry[:2], entry[2:]
            _require(all(name is None or isinstance(name, str) for name in first))
            _require(all(isinstance(url, str) for url in others))
        else:
            _require(isinstance(entry, dict) and ("request" in entry or isinstance(entry.get("unkeepable"), str)))
            _kept(entry.get("request"))
    return value  # type: ignore[no-any-return]


def _items(value: Any) -> list[Any] | None:
    if value is None:
        return None
    for item in _list(value):
        _require(isinstance(item, dict) and isinstance(item.get("class"), str) and isinstance(item.get("fields"), dict))
        _kept(item["fields"])
    return value  # type: ignore[no-any-return]


def _arguments(value: Any) -> dict[str, Any]:
    _require(isinstance(value, dict))
    _kept(value)
    return value  # type: ignore[no-any-return]


def _kept(value: Any) -> None:
    try:
        keeping.decode(value)
    except DamagedValueError as error:
        raise ValueError from error


def _hashes(value: Any) -> tuple[str, ...]:
    return tuple(_fingerprint(one) for one in _list(value))


def _evidence(value: Any) -> Mapping[str, Evidence] | None:
    if value is None:
        return None
    _require(isinstance(value, dict))
    return {
        _fingerprint(key): Evidence(_number(pages, int), _text(path), _text(sample))
        for key, (pages, path, sample) in value.items()
    }


def _fingerprint(value: Any) -> str:
    _require(isinstance(value, str) and len(value) == 16 and set(value) <= set("0123456789abcdef"))
    return str(value)


def _detail(value: Any) -> Mapping[str, Any] | None:
    """Check what a layer noted; that of `boilerplate` is read again, see `removals.removals_in`."""
    if value is None:
        return None
    _require(isinstance(value, dict) and _is_shallow(value, _DETAIL_DEPTH))
    _number(value.get("of_pages", 0), int)
    for key, pages in value.get("blocks", {}).items():
        _fingerprint(key)
        _number(pages, int)
    return value  # type: ignore[no-any-return]


def _is_shallow(value: Any, depth: int) -> bool:
    if not isinstance(value, list | dict):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_is_shallow(one, depth - 1) for one in inner)


def _list(value: Any) -> list[Any]:
    _require(isinstance(value, list))
    return value  # type: ignore[no-any-return]


def _require(holds: object) -> None:
    if not holds:
        raise ValueError


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value[:_MOST_SHOWN]) + ("…" if len(value) > _MOST_SHOWN else "")
    return repr(value) if isinstance(value, int | float | None) else f"a {type(value).__name__}"


_SPECIAL: Final = {
    "requests": _requests,
    "items": _items,
    "cb_kwargs": _arguments,
    "boilerplate_hashes": _hashes,
    "evidence": _evidence,
    "detail": _detail,
}
