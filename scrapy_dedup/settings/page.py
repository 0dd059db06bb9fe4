"""The page docs/settings.md: twelve settings that most projects need, then all by capability."""

from datetime import timedelta
from typing import Any, Final

from scrapy_dedup.settings.declared import FIELDS, PREFIX
from scrapy_dedup.settings.parsers import DAYS, LINES, LIST, SWITCH, FreshFor, kind_of

_FIRST: Final = (
    "enabled unchanged output database_url url_field html_field content_field boilerplate_method near_duplicate "
    "languages fresh_for reuse"
).split()
_SECTIONS: Final = {
    "enabled": "The plugin and its store",
    "url_enabled": "URLs and canonical links",
    "unchanged_enabled": "Crawling again",
    "boilerplate_enabled": "Boilerplate",
    "patterns_enabled": "Selectors and expressions",
    "pdf_enabled": "PDF",
    "title_enabled": "Duplicates",
    "chunk_enabled": "Chunks",
    "language_enabled": "Languages",
    "output": "Items",
    "keep_pages": "What is kept",
    "teacher": "The browser",
    "resilience_enabled": "Finding pages, and traps",
    "stall_after": "Stalls",
    "domain_enabled": "Domains",
    "serve_host": "Servers",
    "shared_job": "Workers, known URLs, a full disk",
}
"""By the field that each begins with, in the order of the declarations."""


def as_markdown() -> str:
    """Return the page."""
    lines = [
        "# Settings",
        "",
        "Made from `scrapy_dedup/settings/declared.py` by `make docs`. Each setting can be given in the project's",
        "settings, by `-s NAME=VALUE`, in `custom_settings`, and, in lower case, as a spider attribute",
        "(`dedup_output`). For one",
        'request: `meta={"dedup": False}`, or a dict of names without the prefix (`{"output": "text"}`).',
        "",
        'As text a list is JSON (`["a", "b"]`) or has commas between entries; one of lines: JSON or one entry a line.',
        "A time is a number of days, or a text such as `12h`, `30m` or `7d`. A switch is `True` or `False`.",
        "",
        *_HEAD,
        *map(_row, _FIRST),
        "",
        "## Advanced",
    ]
    for name in FIELDS:
        if name in _SECTIONS:
            lines += ["", f"### {_SECTIONS[name]}", "", *_HEAD]
        if name not in _FIRST:
            lines.append(_row(name))
    return "\n".join(lines) + "\n"


# What the top of the page says once.
_SHORTER: Final = {LIST: "a list", LINES: "a list of lines", DAYS.allowed: "a time", SWITCH: "a switch"}
_HEAD: Final = ("| setting | default | allowed | meaning |", "| --- | --- | --- | --- |")


def _row(name: str) -> str:
    field = FIELDS[name]
    allowed = kind_of(field).allowed or "text"
    for long, short in _SHORTER.items():
        allowed = allowed.replace(long, short)
    return f"| `{PREFIX}{name.upper()}` | {_shown(field.default)} | {allowed} | {field.metadata['meaning']} |"


def _shown(default: Any) -> str:
    if isinstance(default, timedelta):
        whole_days = default.total_seconds() / 86_400
        return f"`{whole_days:g}d`" if whole_days >= 1 else f"`{default.total_seconds():g}`"
    if isinstance(default, frozenset | tuple):
        return f"`{sorted(default)}`"
    if isinstance(default, FreshFor):
        return "`0`"
    return f"`{default!r}`"
