"""The page of settings, docs/settings.md, made from the declarations: `python docs/settings_page.py`."""

from datetime import timedelta
from typing import Any, Final

from scrapy_dedup.settings import parsers, public_name
from scrapy_dedup.settings.declared import FIELDS
from scrapy_dedup.settings.parsers import PREFIX, FreshFor

_FIRST: Final = (
    "enabled unchanged output database_url url_field html_field content_field boilerplate_method near_duplicate "
    "languages fresh_for reuse"
).split()
_SECTIONS: Final = {
    "enabled": "The plugin and its store",
    "canonical_domains": "Crawling again",
    "boilerplate_method": "Boilerplate",
    "generic_selectors": "Selectors and expressions",
    "near_duplicate": "Near-duplicates and items",
    "keep_pages": "What is kept, and the browser",
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
    for name in (field for field in FIELDS if field not in parsers.PLACES):
        if name in _SECTIONS:
            lines += ["", f"### {_SECTIONS[name]}", "", *_HEAD]
        if name not in _FIRST:
            lines.append(_row(name))
    lines += [
        "",
        "## Families",
        "",
        """A family is one dict: `DEDUP_STALL = {"after": 120}`; `-s DEDUP_STALL='{"after": 120}'`; on a spider""",
        '`dedup_stall = {"after": 120}`. What it leaves out has its default: `custom_settings` and `-s` replace the',
        "project's whole dict, as always in Scrapy; spider attributes and requests change only the keys they name.",
    ]
    for family, keys in parsers.FAMILIES.items():
        lines += ["", f"### {PREFIX}{family.upper()}", "", *_FAMILY_HEAD]
        lines += [_row(field, key) for key, field in keys.items()]
    return "\n".join(lines) + "\n"


# What the top of the page in docs says once.
_SHORTER: Final = {
    parsers.LIST: "a list",
    parsers.LINES: "a list of lines",
    parsers.DAYS.allowed: "a time",
    parsers.SWITCH: "a switch",
}
_RULE: Final = "| --- | --- | --- | --- |"
_HEAD: Final = ("| setting | default | allowed | meaning |", _RULE)
_FAMILY_HEAD: Final = ("| key | default | allowed | meaning |", _RULE)


def _row(name: str, shown: str = "") -> str:
    field = FIELDS[name]
    allowed = parsers.kind_of(field).allowed or "text"
    for long, short in _SHORTER.items():
        allowed = allowed.replace(long, short)
    return f"| `{shown or public_name(name)}` | {_shown(field.default)} | {allowed} | {field.metadata['meaning']} |"


def _shown(default: Any) -> str:
    if isinstance(default, timedelta):
        whole_days = default.total_seconds() / 86_400
        return f"`{whole_days:g}d`" if whole_days >= 1 else f"`{default.total_seconds():g}`"
    if isinstance(default, frozenset | tuple):
        return f"`{sorted(default)}`"
    if isinstance(default, FreshFor):
        return "`0`"
    return f"`{default!r}`"


if __name__ == "__main__":
    print(as_markdown(), end="")
