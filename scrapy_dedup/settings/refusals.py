"""What is refused of what the user chose, and why."""

import difflib
from collections.abc import Collection
from dataclasses import Field
from typing import Any

from scrapy_dedup.core.errors import DedupError


class SettingError(DedupError):
    """A setting is not known, or its value is none that it can have."""


def parsed(field: "Field[Any]", value: Any, shown: str) -> Any:
    """Return a raw value as its declaration has it.

    Args:
        field: of the declaration.
        value: as it was given.
        shown: the name under which it was given.

    Raises:
        SettingError: its parser refuses it.
    """
    try:
        return field.metadata["parse"](value)
    except (ValueError, TypeError, KeyError):
        raise SettingError(f"{shown}={value!r}: needs {field.metadata['allowed']}") from None


def unknown(prefix: str, name: str, known: Collection[str], *, upper: bool = False) -> SettingError:
    """Return the error for a name that is none, with the one that was perhaps meant."""
    # Without the prefix, which makes all names alike.
    near = difflib.get_close_matches(name.lower(), known, n=1)
    meant = [prefix + (one.upper() if upper else one) for one in near]
    hint = f"did you mean {meant[0]}?" if meant else "docs/settings.md lists the names"
    return SettingError(f"{prefix}{name} is not a setting of scrapy_dedup: {hint}")
