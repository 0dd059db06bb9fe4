"""What people decided about one site: its selectors and expressions, and what is kept in spite of all rules."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import asdict, replace

from scrapy_dedup.core.errors import InvalidError

MOST_ENTRIES: Final = 2_000
_MOST_KEPT: Final = 100_000
_MOST_CHARS: Final = 10_000


class SiteConfigError(InvalidError):
    """A site's configuration cannot be used."""


class SiteConfig(Struct, frozen=True):
    """What people decided about one site; empty by default, for sites need none."""

    boilerplate_css_selectors: tuple[str, ...] = ()
    """CSS, or XPath 1.0: elements that are left out."""
    boilerplate_text_patterns: tuple[str, ...] = ()
    """Expressions of what is left out of the Markdown of pages."""
    pdf_boilerplate_patterns: tuple[str, ...] = ()
    """Expressions of what is left out of the text of PDF files."""
    keep_blocks: tuple[str, ...] = ()
    """Fingerprints of blocks that stay, in hexadecimal digits."""
    keep_pages: tuple[str, ...] = ()
    """Keys of pages of which nothing is left out, in hexadecimal digits."""
    keep_rules: tuple[str, ...] = ()
    """Names, paths, selectors or expressions of rules that are not carried out."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided."""
        return self == SiteConfig()

    def to_json(self) -> dict[str, list[str]]:
        """Return what JSON can hold: the keys that say something."""
        return {name: list(entries) for name, entries in asdict(self).items() if entries}

    @classmethod
    def from_json(cls, given: Any) -> Self:
        """Return the configuration that a mapping describes; `config` and `pipeline` around it are passed over.

        Raises:
            SiteConfigError: it has unknown keys, or what is no list of texts.
        """
        for name in ("config", "pipeline"):
            if isinstance(given, Mapping) and set(given) == {name}:
                given = given[name]
        if not isinstance(given, Mapping):
            raise SiteConfigError(f"a site's configuration is a mapping of {', '.join(KEYS)}")
        return cls(**{checked_key(name): entries_of(str(name), entries) for name, entries in given.items()})

    def changed(self, key: str, entries: Iterable[str]) -> Self:
        """Return this with other entries of one key.

        Raises:
            SiteConfigError: there is no such key, or the entries are none.
        """
        return replace(self, **{checked_key(key): entries_of(key, list(entries))})


class ConfigTrial(Struct, frozen=True):
    """What a configuration would mean for stored pages."""

    pages: int
    """Pages that were looked at."""
    changed: int
    chars_less: int
    """Characters that all of them together would lose; negative where more come back."""
    example: str | None = None


KEYS: Final = SiteConfig.__struct_fields__
_DIGITS: Final = {"keep_blocks": 16, "keep_pages": 32}


def checked_key(name: object) -> str:
    """Return a key's name.

    Raises:
        SiteConfigError: there is no such key.
    """
    if isinstance(name, str) and name in KEYS:
        return name
    near = difflib.get_close_matches(str(name)[:100], KEYS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
    raise SiteConfigError(f"{str(name)[:100]!r} is no key of a site's configuration: {hint}")


def entries_of(key: str, entries: Any) -> tuple[str, ...]:
    """Return the entries of a key, each once, in the order given.

    Raises:
        SiteConfigError: they are no list of texts, too many or too long, or no keys of pages or blocks.
    """
    if not isinstance(entries, list | tuple) or not all(isinstance(one, str) for one in entries):
        raise SiteConfigError(f"{key} is a list of texts, not {type(entries).__name__}")
    most = _MOST_KEPT if key.startswith("keep_") else MOST_ENTRIES
    if len(entries) > most:
        raise SiteConfigError(f"{key} has {len(entries)} entries: at most {most} are allowed")
    for one in entries:
        if not one.strip() or len(one) > _MOST_CHARS:
            raise SiteConfigError(f"{key}: {one[:100]!r} is empty, or longer than {_MOST_CHARS} characters")
        digits = _DIGITS.get(key)
        if digits and (len(one) != digits or not set(one) <= set("0123456789abcdef")):
            raise SiteConfigError(f"{key}: {one[:100]!r} is none: it has {digits} hexadecimal digits")
    return tuple(dict.fromkeys(entries))


def get_site_config_with_db_overrides(base: SiteConfig, stored: SiteConfig | None) -> SiteConfig:
    """Return what holds for a site: the entries of all sites, then its own, each once; both are left as they are."""
    if stored is None:
        return base
    return SiteConfig(**{key: tuple(dict.fromkeys((*getattr(base, key), *getattr(stored, key)))) for key in KEYS})
