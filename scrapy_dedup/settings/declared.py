"""Every DEDUP_ setting: name, default, parser and meaning, declared once; docs/settings.md is made from this."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from scrapy_dedup.settings.refusals import parsed, unknown
from scrapy_dedup.settings.sharing import SharingSettings

PREFIX = "DEDUP_"


@dataclass(frozen=True, slots=True)
class Settings(SharingSettings):
    """What the user chose. Field *batch_pages* is read from DEDUP_BATCH_PAGES."""

    def acts(self, layer: str) -> bool:
        """Whether a layer is on, and not in the shadow."""
        return getattr(self, f"{layer}_enabled") and layer not in self.shadow

    def shadows(self, layer: str) -> bool:
        """Whether a layer is to find out what it would do, and do nothing."""
        return getattr(self, f"{layer}_enabled") and layer in self.shadow

    @classmethod
    def read(cls, source: Mapping[str, Any]) -> Self:
        """Read Scrapy settings or a dict; names that do not start with DEDUP_ are passed over.

        Raises:
            SettingError: unknown DEDUP_ name, or a value that its parser refuses.
        """
        given = {name: source[name] for name in source if isinstance(name, str) and name.startswith(PREFIX)}
        fields = {name.removeprefix(PREFIX).lower(): value for name, value in given.items()}
        for name in given:
            if name != name.upper() or name.removeprefix(PREFIX).lower() not in FIELDS:
                raise unknown(PREFIX, name.removeprefix(PREFIX), FIELDS, upper=True)
        return cls(**{name: parsed(FIELDS[name], value, PREFIX + name.upper()) for name, value in fields.items()})

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
            if name not in FIELDS:
                raise unknown(origin, name, FIELDS)
        changed = {name: parsed(FIELDS[name], value, origin + name) for name, value in fields.items()}
        return dataclasses.replace(self, **changed)


FIELDS = {field.name: field for field in dataclasses.fields(Settings)}
