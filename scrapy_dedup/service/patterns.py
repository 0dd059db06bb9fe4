"""What people decide about sites: looked up, changed and tried, and carried in files from store to store.

Whatever reads or writes the store raises StoreError where that fails.
"""

import math
import time
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, RemovalRule
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.patterns import ConfigTrial, HeldBack, SiteConfig, SiteConfigError
from scrapy_dedup.service.cut.cleaning import Cleaned
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.cut.site_patterns import PATTERNS, PDF_PATTERN, SitePatterns, check_config, patterns_of
from scrapy_dedup.service.learning import knowledge_of
from scrapy_dedup.service.packed_files import read_json
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages import contents, site_configs
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.writer import ProjectStore

FORMAT: Final = "scrapy-dedup-config"
FORMAT_VERSION: Final = 1
GENERIC_TIER: Final = 1
SITE_TIER: Final = 2
TEXT_TIER: Final = 3
PDF_TIER: Final = 4


class TrialBound(NamedTuple):
    """On how many stored pages, and for how long at most, it is tried what a configuration would mean."""

    pages: int = 1_000
    seconds: float = math.inf


PATIENT: Final = TrialBound()


class ConfigFileError(DedupError):
    """A file holds no configurations."""


class ConfigChangedError(DedupError):
    """Somebody else changed a configuration since it was read; the message says which version there is."""


class Changed(Struct, frozen=True):
    """What became of a change, or would.

    Attributes:
        version: of the configuration now; 0 where there is none any more, None where nothing was written.
        stale: pages that are to be cleaned again for it.
        trial: what it would mean; None where it was written.
    """

    domain: str
    config: SiteConfig
    version: int | None = None
    stale: int | None = None
    trial: ConfigTrial | None = None


class PatternEffect(Struct, frozen=True):
    """What one pattern does on one page."""

    tier: int
    pattern: str
    blocks: int
    chars: int
    sample: str


class Tried(Struct, frozen=True):
    """What the patterns of a site do on one page."""

    url: str
    domain: str
    patterns: tuple[PatternEffect, ...]
    held: tuple[HeldBack, ...]


def stored_config(project: ProjectStore, domain: str) -> SiteConfig | None:
    """Return what is decided about a domain; None where nothing is.

    Raises:
        SiteConfigError: what is stored was changed by hand so that it is none.
    """
    found = project.site_config(domain)
    return _read(dict(found.config), domain) if found else None


def put_config(
    project: ProjectStore,
    domain: str,
    config: SiteConfig,
    settings: Settings,
    at: datetime,
    *,
    expected: int | None = None,
) -> Changed:
    """Store what is decided about a domain; of an empty configuration nothing is left.

    *expected* is the version that was read, 0 for none, where no other is to be replaced.

    Raises:
        PatternError: an entry cannot be used; nothing is written.
        ConfigChangedError: the version is another one by now; nothing is written.
    """
    check_config(config, domain, allow_slow=settings.allow_slow_patterns)
    with project.transaction(write=True) as connection:
        if expected is not None:
            _check_version(connection, project, domain, expected)
        if config.is_empty:
            return Changed(domain, config, 0, site_configs.unset(connection, project.id, domain))
        version, stale = site_configs.put(connection, project.id, domain, config.to_json(), at)
        return Changed(domain, config, version, stale)


def _check_version(connection: Connection, project: ProjectStore, domain: str, expected: int) -> None:
    """Compare the version that is stored, and keep others from writing until the transaction ends."""
    contents.lock_project(connection, project.id)
    found = site_configs.get(connection, project.id, domain)
    present = found.version if found else 0
    if present != expected:
        raise ConfigChangedError(
            f"the configuration of {domain} has version {present} by now, not {expected}: "
            "look at it, and make the change again"
        )


def export_configs(project: ProjectStore) -> dict[str, Any]:
    """Return the configurations of all domains, as a file holds them."""
    domains = {one.domain: dict(one.config) for one in project.site_configs()}
    return {"format": FORMAT, "version": FORMAT_VERSION, "domains": domains}


def read_configs(text: str, domain: str | None = None) -> dict[str, SiteConfig]:
    """Return the configurations of a file, by domain.

    The text is what `export_configs` gives, or one configuration alone, then that of *domain*.

    Raises:
        ConfigFileError: it holds none.
        SiteConfigError: one of them is none; the message names the key.
    """
    try:
        given = read_json(text)
    except (ValueError, RecursionError) as error:
        raise ConfigFileError(f"this is no JSON: {error}") from error
    if isinstance(given, dict) and "domains" in given:
        if given.get("format") != FORMAT or given.get("version") != FORMAT_VERSION:
            raise ConfigFileError(f"this is no file of format {FORMAT}, version {FORMAT_VERSION}")
        if not isinstance(given["domains"], dict):
            raise ConfigFileError("its domains are no mapping of domain to configuration")
        return {str(name).lower(): _read(one, str(name)) for name, one in given["domains"].items()}
    if domain is None:
        raise ConfigFileError("this is the configuration of one site: say of which, import FILE DOMAIN")
    return {domain: _read(given, domain)}


def _read(given: Any, domain: str) -> SiteConfig:
    try:
        return SiteConfig.from_json(given)
    except SiteConfigError as error:
        raise SiteConfigError(f"{domain}: {error}") from error


def change_config(
    project: ProjectStore,
    domain: str,
    config: SiteConfig,
    settings: Settings,
    at: datetime | None,
    bound: TrialBound = PATIENT,
) -> Changed:
    """Store what is decided about a domain; *at* None: only try it, see `try_config`.

    Raises:
        PatternError: an entry cannot be used; nothing is written.
    """
    if at is not None:
        return put_config(project, domain, config, settings, at)
    return Changed(domain, config, trial=try_config(project, domain, config, settings, bound))


def try_config(
    project: ProjectStore, domain: str, config: SiteConfig, settings: Settings, bound: TrialBound = PATIENT
) -> ConfigTrial:
    """Return what a configuration would mean for the stored pages of a domain.

    Raises:
        PatternError: an entry cannot be used.
    """
    before = patterns_of(settings, stored_config(project, domain), domain)
    after = patterns_of(settings, config, domain)
    cutter = Cutter(project, domain, settings)
    pages, changed, less, example, until = 0, 0, 0, None, time.monotonic() + bound.seconds
    with project.session(read_only=True) as session:
        for source in islice(SourceRepository(session).iterate(project.id, domain), bound.pages):
            reading = read_again(source, settings) if time.monotonic() <= until else None
            if reading is None:
                continue
            pages += 1
            was, would = cutter.cut(reading, before), cutter.cut(reading, after)
            if was.content != would.content:
                changed, less = changed + 1, less + was.chars_out - would.chars_out
                example = example or source.url
    return ConfigTrial(pages, changed, less, example)


class Cutter:
    """Cuts the pages of one domain by what is learned of it; without a project by what holds for pages not known."""

    def __init__(self, project: ProjectStore | None, domain: str, settings: Settings) -> None:
        rows = project.knowledge(domain) if project else {}
        self._boilerplate = {name: knowledge_of(row).boilerplate for name, row in rows.items()}
        self._site = site_of(domain, project.templates(domain)) if project else None
        self._settings = settings

    def cut(self, reading: Reading, patterns: SitePatterns) -> Cleaned:
        """Return what is left of a page."""
        if reading.method == "template" and reading.page is not None:
            page, settings = reading.page, self._settings
            return cut_page(reading.source, page, reading.url, self._site, settings, patterns).cleaned
        nothing: Boilerplate[int] = Boilerplate()
        known = self._boilerplate.get(reading.method, nothing)
        return reading.clean(known, self._settings, patterns=patterns)


def try_on_page(project: ProjectStore | None, domain: str, reading: Reading, settings: Settings) -> Tried:
    """Return what each pattern of a site does on a page, and what is not carried out and why.

    Raises:
        PatternError: an entry cannot be used.
    """
    patterns = patterns_of(settings, stored_config(project, domain) if project else None, domain)
    cleaned = Cutter(project, domain, settings).cut(reading, patterns)
    return Tried(reading.url, domain, tuple(effects_of(cleaned, patterns)), cleaned.held)


def effects_of(cleaned: Cleaned, patterns: SitePatterns) -> list[PatternEffect]:
    """Return what each pattern did, in the order of tiers, what did most first."""
    tiers = {one.rule: GENERIC_TIER if one.is_generic else SITE_TIER for one in patterns.targets}
    found: dict[RemovalRule, PatternEffect] = {}
    for one in (*cleaned.removed, *cleaned.shadowed):
        rule = one.removal.rule
        if rule.layer == PATTERNS:
            tier = tiers.get(rule, PDF_TIER if rule.name == PDF_PATTERN else TEXT_TIER)
            so_far = found.get(rule, PatternEffect(tier, rule.path, 0, 0, one.text))
            found[rule] = replace(so_far, blocks=so_far.blocks + 1, chars=so_far.chars + len(one.text))
    return sorted(found.values(), key=lambda one: (one.tier, -one.chars, one.pattern))


def merged(present: SiteConfig, key: str, entries: Iterable[str]) -> SiteConfig:
    """Return a configuration with more entries of a key."""
    return present.changed(key, [*getattr(present, key), *entries])
