"""How users name a setting: by itself, or as a key of its family's dict, `DEDUP_STALL = {"after": 120}`."""

import difflib
import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from scrapy_dedup.settings.parsers import SettingError, quoted

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

    Args:
        given: raw values by name, without the origin.
        origin: what stands before the names where they are given, such as DEDUP_: there in upper case, else in lower.
        fields: all that there are.

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
