"""The page docs/settings.md, made from the declaration."""

from datetime import timedelta
from typing import Any

from scrapy_dedup.settings.declared import FIELDS, PREFIX
from scrapy_dedup.settings.parsers import FreshFor


def as_markdown() -> str:
    """Return the page docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "Made from `scrapy_dedup/settings/declared.py` by `make docs`. Each setting can be given in the project's",
        "settings, by `-s NAME=VALUE`, in `custom_settings`, and, in lower case, as a spider attribute",
        "(`dedup_output`). For one",
        'request: `meta={"dedup": False}`, or a dict of names without the prefix (`{"output": "text"}`).',
        "",
        "| setting | default | allowed | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for name, field in FIELDS.items():
        allowed = field.metadata["allowed"] or "text"
        lines.append(
            f"| `{PREFIX}{name.upper()}` | {_shown(field.default)} | {allowed} | {field.metadata['meaning']} |"
        )
    return "\n".join(lines) + "\n"


def _shown(default: Any) -> str:
    if isinstance(default, timedelta):
        whole_days = default.total_seconds() / 86_400
        return f"`{whole_days:g}d`" if whole_days >= 1 else f"`{default.total_seconds():g}`"
    if isinstance(default, frozenset | tuple):
        return f"`{sorted(default)}`"
    if isinstance(default, FreshFor):
        return "`0`"
    return f"`{default!r}`"
