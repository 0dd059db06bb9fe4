"""Every DEDUP_ setting: name, default, parser and meaning, declared once; docs/settings.md is made from this."""

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Self, cast

from scrapy_dedup.core.errors import DedupError

PREFIX = "DEDUP_"


class SettingError(DedupError):
    """A setting is not known, or its value is none that it can have."""


def setting(default: Any, parse: Callable[[Any], Any], meaning: str, *, allowed: str = "") -> Any:
    """Declare one field of `Settings`.

    Args:
        default: the value where the user gives none.
        parse: turns what the user wrote into the field's value; ValueError or TypeError refuse it.
        meaning: one or two sentences for docs/settings.md.
        allowed: the values it can have, in words, for the error message and the docs.
    """
    return dataclasses.field(default=default, metadata={"parse": parse, "meaning": meaning, "allowed": allowed})


def boolean(value: Any) -> bool:
    """Read a switch as Scrapy does: true and false, 1 and 0, also as text."""
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    return words[str(value).strip().lower()]


def integer(low: int, high: int) -> Callable[[Any], int]:
    """Return a parser of whole numbers from *low* to *high*."""

    def parse(value: Any) -> int:
        number = int(str(value).strip())
        if isinstance(value, bool) or not low <= number <= high:
            raise ValueError
        return number

    return parse


def number(low: float, high: float) -> Callable[[Any], float]:
    """Return a parser of numbers from *low* to *high*."""

    def parse(value: Any) -> float:
        parsed = float(str(value).strip())
        if isinstance(value, bool) or not low <= parsed <= high:
            raise ValueError
        return parsed

    return parse


def seconds(low: float, high: float) -> Callable[[Any], timedelta]:
    """Return a parser of a time in seconds."""
    read = number(low, high)
    return lambda value: timedelta(seconds=read(value.total_seconds() if isinstance(value, timedelta) else value))


def choice(*options: str) -> Callable[[Any], str]:
    """Return a parser that takes one of some words."""

    def parse(value: Any) -> str:
        word = str(value).strip().lower()
        if word not in options:
            raise ValueError
        return word

    return parse


def words(value: Any) -> frozenset[str]:
    """Read a list, or text with commas, as a set of lower-case words."""
    parts: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    return frozenset(word for part in parts if (word := str(part).strip().lower()))


def text(value: Any) -> str:
    """Read text; None is empty."""
    return "" if value is None else str(value).strip()


def keep_pages(value: Any) -> Literal["latest", "none"] | int:
    """Read `latest`, `none` or a number of versions."""
    word = str(value).strip().lower()
    if word in ("latest", "none"):
        return cast("Literal['latest', 'none']", word)
    return integer(1, 1000)(value)


_SWITCH = "True or False"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user chose. Field *batch_pages* is read from DEDUP_BATCH_PAGES."""

    enabled: bool = setting(
        True, boolean, "Switches the whole plugin; off, items leave byte-identical.", allowed=_SWITCH
    )
    project: str = setting("", text, "Namespace of all knowledge; BOT_NAME where it is empty.")
    source_group: str = setting("", text, "Group under which the pages are stored, for analyses of a part.")
    database_url: str = setting(
        "", text, "SQLAlchemy URL of the store; empty: the file `.scrapy/dedup.db` in the Scrapy project's data folder."
    )
    database_timeout: timedelta = setting(
        timedelta(seconds=5), seconds(0.1, 600), "Seconds to wait for a locked store.", allowed="0.1 to 600 seconds"
    )
    domain_scope: Literal["host", "registrable"] = setting(
        "host",
        choice("host", "registrable"),
        "What one domain is: a host, or a registrable domain of the public suffix list.",
        allowed="host or registrable",
    )
    url_enabled: bool = setting(True, boolean, "Layer `url`: one page for all spellings of its URL.", allowed=_SWITCH)
    url_fragment: bool = setting(True, boolean, "Fragments do not count, except `#!`.", allowed=_SWITCH)
    url_query_order: bool = setting(True, boolean, "The order of query parameters does not count.", allowed=_SWITCH)
    url_tracking_parameters: bool = setting(
        True, boolean, "Tracking parameters (utm_source, gclid ...) do not count.", allowed=_SWITCH
    )
    url_trailing_slash: bool = setting(False, boolean, "A slash at the end of a path does not count.", allowed=_SWITCH)
    url_index_page: bool = setting(
        False, boolean, "`/a/index.html` and the like are the same as `/a/`.", allowed=_SWITCH
    )
    canonical_enabled: bool = setting(
        True, boolean, "Layer `canonical`: aliases by redirect and canonical link.", allowed=_SWITCH
    )
    canonical_domains: frozenset[str] = setting(
        frozenset(), words, "Other domains whose pages a canonical link may name.", allowed="domains, as a list"
    )
    boilerplate_enabled: bool = setting(
        True, boolean, "Layer `boilerplate`: blocks that repeat across a domain's pages.", allowed=_SWITCH
    )
    boilerplate_method: Literal["auto", "html", "text"] = setting(
        "auto",
        choice("auto", "html", "text"),
        "`html` counts (DOM path, text), `text` counts parts between blank lines; `auto`: html where there is HTML.",
        allowed="auto, html or text",
    )
    threshold_pct: float = setting(
        0.7, number(0.1, 1.0), "Share of a domain's pages that makes a block boilerplate.", allowed="0.1 to 1.0"
    )
    min_pages: int = setting(5, integer(2, 100), "Nothing is learned from fewer pages.", allowed="2 to 100")
    min_block_chars: int = setting(
        50, integer(10, 500), "Method `text`: shorter blocks stay.", allowed="10 to 500 characters"
    )
    batch_pages: int = setting(
        16, integer(1, 1000), "Pages of an unknown domain that wait for each other.", allowed="1 to 1000 pages"
    )
    learn_pages: int = setting(60, integer(2, 10_000), "Pages that a domain learns from.", allowed="2 to 10000 pages")
    max_wait: timedelta = setting(
        timedelta(seconds=30), seconds(0.1, 3600), "Seconds that a page waits at most.", allowed="0.1 to 3600 seconds"
    )
    max_parked_bytes: int = setting(
        8_000_000,
        integer(0, 10**10),
        "Bytes of HTML that wait at most, over all domains; beyond it the largest batches are let go.",
        allowed="0 to 10000000000 bytes",
    )
    max_page_bytes: int = setting(
        8_000_000,
        integer(1_000, 10**9),
        "Larger pages go out uncleaned and flagged.",
        allowed="1000 to 1000000000 bytes",
    )
    output: Literal["markdown", "text", "html"] = setting(
        "markdown", choice("markdown", "text", "html"), "Form of cleaned_content.", allowed="markdown, text or html"
    )
    url_field: str = setting("url", text, "Item field with the page's URL.")
    html_field: str = setting("html", text, "Item field with the page's HTML.")
    content_field: str = setting("content", text, "Item field with the page's text or Markdown.")
    attach_response: bool = setting(
        True,
        boolean,
        "Items with neither HTML nor content that name their response's URL are cleaned from the response's HTML.",
        allowed=_SWITCH,
    )
    keep_pages: Literal["latest", "none"] | int = setting(
        "latest", keep_pages, "Originals kept in the store.", allowed="latest, none, or a number of versions"
    )
    store_max_bytes: int = setting(
        20_000_000_000,
        integer(0, 10**15),
        "Bytes of kept originals and texts; beyond it the oldest are emptied. 0: no bound.",
        allowed="0 to 10**15 bytes",
    )
    keep_decisions: int = setting(
        100_000, integer(0, 10**9), "Rows kept of why something was dropped.", allowed="0 to 1000000000 rows"
    )
    write_every: int = setting(
        500,
        integer(1, 100_000),
        "Rows after which the store is written, or after a second.",
        allowed="1 to 100000 rows",
    )
    fallback_request_fingerprinter_class: Any = setting(
        "scrapy.utils.request.RequestFingerprinter",
        lambda value: value,
        "The fingerprinter behind ours; the add-on sets it to the one that it replaces.",
        allowed="a class or its import path",
    )

    @classmethod
    def read(cls, source: Mapping[str, Any]) -> Self:
        """Read Scrapy settings or a dict; names that do not start with DEDUP_ are passed over.

        Raises:
            SettingError: unknown DEDUP_ name, or a value that its parser refuses.
        """
        given = {name: source[name] for name in source if isinstance(name, str) and name.startswith(PREFIX)}
        fields = {name.removeprefix(PREFIX).lower(): value for name, value in given.items()}
        for name in given:
            if name != name.upper() or name.removeprefix(PREFIX).lower() not in _FIELDS:
                raise SettingError(_unknown(PREFIX, name.removeprefix(PREFIX)))
        return cls(**{name: _parse(name, value, PREFIX + name.upper()) for name, value in fields.items()})

    def override(self, fields: Mapping[str, Any], origin: str) -> Self:
        """Return these settings with some fields changed.

        Args:
            fields: field names without DEDUP_, in lower case, with raw values.
            origin: who says so, for the error message, such as `spider attribute dedup_`.

        Raises:
            SettingError: unknown field, or a value that its parser refuses.
        """
        if not fields:
            return self
        for name in fields:
            if name not in _FIELDS:
                raise SettingError(_unknown(origin, name))
        changed = {name: _parse(name, value, origin + name) for name, value in fields.items()}
        return dataclasses.replace(self, **changed)


_FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def _parse(name: str, value: Any, shown: str) -> Any:
    metadata = _FIELDS[name].metadata
    try:
        return metadata["parse"](value)
    except (ValueError, TypeError, KeyError):
        raise SettingError(f"{shown}={value!r}: needs {metadata['allowed']}") from None


def _unknown(prefix: str, name: str) -> str:
    # Without the prefix, which makes all names alike.
    near = difflib.get_close_matches(name.lower(), _FIELDS, n=1)
    meant = [prefix + (field.upper() if prefix == PREFIX else field) for field in near]
    hint = f"did you mean {meant[0]}?" if meant else "docs/settings.md lists the names"
    return f"{prefix}{name} is not a setting of scrapy_dedup: {hint}"


def as_markdown() -> str:
    """Return the page docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "Made from `scrapy_dedup/settings.py` by `make docs`. Every setting can be given in the project's settings, by",
        "`-s NAME=VALUE`, in `custom_settings`, and, in lower case, as a spider attribute (`dedup_output`). For one",
        'request: `meta={"dedup": False}`, or a dict of names without the prefix (`{"output": "text"}`).',
        "",
        "| setting | default | allowed | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for name, field in _FIELDS.items():
        allowed = field.metadata["allowed"] or "text"
        lines.append(
            f"| `{PREFIX}{name.upper()}` | {_shown(field.default)} | {allowed} | {field.metadata['meaning']} |"
        )
    return "\n".join(lines) + "\n"


def _shown(default: Any) -> str:
    if isinstance(default, timedelta):
        return f"`{default.total_seconds():g}`"
    if isinstance(default, frozenset):
        return "`[]`"
    return f"`{default!r}`"
