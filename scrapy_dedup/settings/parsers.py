"""From what a user writes to a setting's value; ValueError, TypeError or KeyError refuse it."""

import dataclasses
import difflib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from msgspec import Struct

from scrapy_dedup.core.errors import InvalidError
from scrapy_dedup.core.recrawl.plan import FreshRule

SWITCH = "True or False"
LIST = 'a list; as text: JSON, as ["a", "b"], or with commas'
LINES = 'a list; as text: JSON, as ["a", "b"], or one a line'

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([smhdw]?)")


class Kind(NamedTuple):
    """What a setting can be.

    Attributes:
        parse: turns what the user wrote into the field's value; ValueError, TypeError or KeyError refuse it.
        allowed: the values it can have, in words, for the error message and the docs.
    """

    parse: Callable[[Any], Any]
    allowed: str


def setting(default: Any, meaning: str, kind: Kind | None = None) -> Any:
    """Declare one field of `Settings`.

    *meaning* is one or two sentences for docs/settings.md; *kind* None for switches, texts and choices, whose type says
    it.
    """
    return dataclasses.field(default=default, metadata={"kind": kind, "meaning": meaning})


def kind_of(field: "Field[Any]") -> Kind:
    """Return what a declared field can be."""
    kind: Kind | None = field.metadata["kind"]
    if kind is not None:
        return kind
    return {bool: Kind(_boolean, SWITCH), str: Kind(_text, "")}.get(cast("type", field.type)) or _choice(
        *get_args(field.type)
    )


def _boolean(value: Any) -> bool:
    """Read a switch as Scrapy does: true and false, 1 and 0, also as text."""
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    return words[str(value).strip().lower()]


def integer(low: int, high: int, unit: str = "") -> Kind:
    """Return the kind of whole numbers from *low* to *high*."""

    def parse(value: Any) -> int:
        number = int(str(value).strip())
        if isinstance(value, bool) or not low <= number <= high:
            raise ValueError
        return number

    most = str(high) if high < 10**9 else f"10**{len(str(high)) - 1}"
    return Kind(parse, f"{low} to {most} {unit}".rstrip())


def number(low: float, high: float) -> Kind:
    """Return the kind of numbers from *low* to *high*."""

    def parse(value: Any) -> float:
        parsed = float(str(value).strip())
        if isinstance(value, bool) or not low <= parsed <= high:
            raise ValueError
        return parsed

    return Kind(parse, f"{low} to {high}")


def seconds(low: float, high: float) -> Kind:
    """Return the kind of a time in seconds, or of a text with a unit: 500s, 2m, 1h."""

    def parse(value: Any) -> timedelta:
        found = duration(value, "s")
        if not low <= found.total_seconds() <= high:
            raise ValueError
        return found

    return Kind(parse, f"{low:g} to {high:g} seconds")


def _choice(*options: str) -> Kind:
    """Return the kind of one of some words."""

    def parse(value: Any) -> str:
        word = str(value).strip().lower()
        if word not in options:
            raise ValueError
        return word

    return Kind(parse, " or ".join([", ".join(options[:-1]), options[-1]]))


def _listed(value: Any, between: str = r"[,\r\n]+") -> tuple[str, ...]:
    """Read a list of texts, each once: a list, or text: JSON, or with commas or lines, or what else is *between*."""
    if isinstance(value, str):
        found = _json_list(value)
        value = re.split(between, value) if found is None else found
        # What a shell leaves of ["a","b"] is no list of the names `[a` and `b]`.
        if "," in between and any(part.count("[") != part.count("]") for part in value):
            raise ValueError
    parts = tuple(value)
    if not all(isinstance(part, str) for part in parts):
        raise TypeError
    return tuple(dict.fromkeys(stripped for part in parts if (stripped := part.strip())))


def _json_list(text: str) -> list[str] | None:
    """Return the list that a text is in JSON; None where it is none, as `[data-ad]`, a selector, or `[1]`."""
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and all(isinstance(part, str) for part in found) else None


def texts(what: str = "") -> Kind:
    """Return the kind of a list of texts, in its order."""
    return Kind(_listed, f"{what}, {LIST}" if what else LIST)


def words(what: str) -> Kind:
    """Return the kind of a set of lower-case words."""
    return Kind(_words, f"{what}, {LIST}")


def names(what: str) -> Kind:
    """Return the kind of a set of names."""
    return Kind(lambda value: frozenset(_listed(value)), f"{what}, {LIST}")


def _words(value: Any) -> frozenset[str]:
    return frozenset(word.lower() for word in _listed(value))


def _text(value: Any) -> str:
    """Read text; None is empty."""
    return "" if value is None else str(value).strip()


def some_of(*options: str) -> Kind:
    """Return the kind of a set of some words."""

    def parse(value: Any) -> frozenset[str]:
        found = _words(value)
        if not found <= set(options):
            raise ValueError
        return found

    return Kind(parse, f"{', '.join(options)}, {LIST}")


def _days_or_none(value: Any) -> timedelta | None:
    """Read a number of days; `none`, `off`, False or nothing is without end."""
    if value is None or value is False or str(value).strip().lower() in ("", "none", "off", "false"):
        return None
    return duration(value)


def duration(value: Any, unit: str = "d") -> timedelta:
    """Read a number of units, or a text with a unit of its own: 45s, 30m, 12h, 7d, 2w.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, timedelta):
        found = value
    else:
        match = _DURATION.fullmatch(str(value).strip().lower())
        if match is None or isinstance(value, bool):
            raise ValueError
        try:
            found = timedelta(**{_UNITS[match[2] or unit]: float(match[1])})
        except OverflowError:
            raise ValueError from None
    if found < timedelta(0):
        raise ValueError
    return found


class FreshFor(Struct, frozen=True):
    """How long pages are left alone."""

    default: timedelta = timedelta(0)
    rules: tuple[FreshRule, ...] = ()

    def __str__(self) -> str:
        return "0" if self == FreshFor() else repr(self)


def _fresh_for(value: Any) -> FreshFor:
    """Read one duration, or a dict of durations by pattern, which may be JSON; `*` is for all other pages."""
    if isinstance(value, FreshFor):
        return value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = json.loads(value)
    if not hasattr(value, "items"):
        return FreshFor(duration(value))
    parsed = {str(pattern).strip(): duration(time) for pattern, time in value.items()}
    if not all(parsed):
        raise ValueError
    default = parsed.pop("*", timedelta(0))
    return FreshFor(default, tuple(FreshRule(pattern, duration) for pattern, duration in parsed.items()))


def _languages(value: Any) -> frozenset[str]:
    """Read language codes of two letters."""
    found = _words(value)
    if not all(len(code) == 2 and code.isascii() and code.isalpha() for code in found):
        raise ValueError
    return found


def _keep_pages(value: Any) -> Literal["latest", "none"] | int:
    """Read `latest`, `none` or a number of versions."""
    word = str(value).strip().lower()
    if word in ("latest", "none"):
        return cast("Literal['latest', 'none']", word)
    return cast("int", integer(1, 1000).parse(value))


DAYS: Final = Kind(duration, "days, or a text such as 12h, 30m or 7d")
DAYS_OR_NONE: Final = Kind(_days_or_none, DAYS.allowed)
FRESH_FOR: Final = Kind(_fresh_for, "days, a text such as 12h, 30m or 7d, or a dict of such by pattern")
# In text white space may stand between them, too.
PATTERNS: Final = Kind(lambda value: _listed(value, r"[,\s]+"), f"URLs, domains or patterns with *, {LIST}")
# Selectors or regular expressions: one a line, for they hold commas.
EXPRESSIONS: Final = Kind(lambda value: _listed(value, r"[\r\n]+"), LINES)
LANGUAGES: Final = Kind(_languages, f"two-letter codes, {LIST}")
KEEP_PAGES: Final = Kind(_keep_pages, "latest, none, or a number of versions")
CLASS: Final = Kind(lambda value: value, "a class or its import path")


class SettingError(InvalidError):
    """A setting is not known, or its value is none that it can have."""


def parsed(field: "Field[Any]", value: Any, shown: str) -> Any:
    """Return a raw value as its declaration has it.

    *shown* is the name under which the value was given.

    Raises:
        SettingError: its parser refuses it.
    """
    kind = kind_of(field)
    try:
        return kind.parse(value)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise SettingError(f"{shown}={quoted(value)}: needs {kind.allowed}") from None


def quoted(value: Any) -> str:
    """Return how a value was written, for a message; what is nested too deep or has too many digits by its type."""
    try:
        return repr(value)
    except (RecursionError, ValueError):
        return object.__repr__(value)


PREFIX: Final = "DEDUP_"

LAYERS: Final = (
    "domain",
    "url",
    "title",
    "canonical",
    "unchanged",
    "boilerplate",
    "patterns",
    "duplicate",
    "near_duplicate",
    "chunk",
    "language",
)
"""In the order in which they act."""


def _with(prefix: str, keys: str) -> dict[str, str]:
    """Return fields by key, where the field is the key behind a prefix."""
    return {key: prefix + key for key in keys.split()}


FAMILIES: Final[Mapping[str, Mapping[str, str]]] = {
    "layers": {layer: f"{layer}_enabled" for layer in LAYERS},
    "url": _with("url_", "fragment query_order tracking_parameters trailing_slash index_page"),
    "adaptive": {"enabled": "adaptive"} | _with("adaptive_", "first shortest longest"),
    "removed": _with("removed_", "after max_share max_failures") | {"emit": "emit_removed"},
    "batch": {"pages": "batch_pages"}
    | _with("", "learn_pages learn_after held_pages max_wait")
    | {"max_bytes": "max_parked_bytes"},
    "pdf": _with("pdf_", "enabled max_pages timeout"),
    "title": _with("title_", "trust agreement common"),
    "chunk": _with("chunk_", "size overlap tokenizer min_documents") | {"emit": "emit_chunks"},
    "language": _with("language_", "detector confidence"),
    "keep": _with("keep_", "decisions visits visits_a_page extractions")
    | {"store_bytes": "store_max_bytes", "memo_bytes": "memo_max_bytes"},
    "browser": {"path": "teacher_browser"}
    | _with("teacher_", "pages domain_pages layout_pages timeout hosts")
    | {"render": "render_enabled"},
    "resilience": {"enabled": "resilience_enabled"}
    | _with("", "discovery discovery_max_urls")
    | {"pagination": "pagination_enabled"}
    | _with("", "pagination_max_pages traps trap_pages learn_parameters"),
    "stall": _with("stall_", "after action probe_url user_agents proxies longest_delay"),
    "domain": _with("domain_", "policy sample_pages refresh join_pages")
    | _with("", "high_quality confidence_field confidence_function"),
    "serve": _with("serve_", "host port token allowed_hosts rate max_body_bytes") | _with("", "mcp_port mcp_blacklist"),
}
"""Fields by family and key."""

PLACES: Final = {field: (family, key) for family, keys in FAMILIES.items() for key, field in keys.items()}
"""Family and key by field; others have a name to themselves."""


def public_name(field: str, origin: str = PREFIX) -> str:
    """Return how users name a field: DEDUP_WRITE_EVERY, DEDUP_STALL["after"]; in lower case behind another origin."""
    family, key = PLACES.get(field, (field, ""))
    name = _in_place(family, origin)
    return f'{name}["{key}"]' if key else name


def _in_place(name: str, origin: str) -> str:
    return origin + (name.upper() if origin == PREFIX else name)


def by_field(given: Mapping[Any, Any], origin: str, fields: Collection[str]) -> dict[str, Any]:
    """Return raw values by field.

    *given* are raw values by name, without the *origin*, which stands before the names where they are given, such as
    DEDUP_: there in upper case, else in lower.

    Raises:
        SettingError: there is no such name, or no such key of a family, or a family is no dict.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        lower = str(name).lower()
        family = FAMILIES.get(lower)
        is_known = family is not None or (lower in fields and lower not in PLACES)
        if not is_known or origin + str(name) != _in_place(lower, origin):
            raise _unknown(origin, str(name), fields)
        if family is None:
            found[lower] = value
            continue
        for key, one in members(lower, value, origin).items():
            if key not in family:
                near = difflib.get_close_matches(str(key).lower(), family, n=1)
                hint = f'did you mean "{near[0]}"?' if near else f"its keys are {', '.join(family)}"
                raise SettingError(f"{origin}{name}[{_in_quotes(key)}] is not a setting of scrapy_dedup: {hint}")
            found[family[key]] = one
    return found


def members(family: str, value: Any, origin: str = PREFIX) -> Mapping[Any, Any]:
    """Return what is given of a family, a dict or JSON, by key.

    Raises:
        SettingError: it is no dict.
    """
    read = value
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = None
    if isinstance(read, Mapping):
        return read
    # The text may hold a token.
    shown = " is text that is no dict in JSON" if isinstance(value, str) else f"={quoted(value)}"
    raise SettingError(
        f'{_in_place(family, origin)}{shown}: needs a dict, as {{"{next(iter(FAMILIES[family]))}": ...}}'
    )


def _in_quotes(key: Any) -> str:
    return f'"{key}"' if isinstance(key, str) else quoted(key)


def _unknown(origin: str, name: str, fields: Collection[str]) -> SettingError:
    """Return the error for a name that is none, with the one that was perhaps meant."""
    # Without the prefix, which makes all names alike.
    meant = {field: public_name(field, origin) for field in fields}
    for family, keys in FAMILIES.items():
        meant |= {f"{family}_{key}": public_name(field, origin) for key, field in keys.items()}
        meant[family] = _in_place(family, origin)
    near = difflib.get_close_matches(name.lower(), meant, n=1)
    hint = f"did you mean {meant[near[0]]}?" if near else "docs/settings.md lists the names"
    return SettingError(f"{origin}{name} is not a setting of scrapy_dedup: {hint}")
