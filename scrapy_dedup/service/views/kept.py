"""What is kept in spite of all rules: of a project, of a domain, and by the text that a person names it by."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.patterns.config import SiteConfig
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages import site_configs
from scrapy_dedup.store.pages.ledger_reads import LedgerReads
from scrapy_dedup.store.pages.site_configs import StoredSiteConfig
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

BLOCK: Final = re.compile("[0-9a-fA-F]{16}")
URL: Final = re.compile("https?://", re.IGNORECASE)
_MOST_NAMED: Final = 5


class KeptKind(StrEnum):
    """What is kept; the value is the word for a person."""

    BLOCK = "block"
    PAGE = "page"
    RULE = "rule"


KEYS: Final = {KeptKind.BLOCK: "keep_blocks", KeptKind.PAGE: "keep_pages", KeptKind.RULE: "keep_rules"}
"""Where the configuration of a site holds it."""


class UndoError(DedupError):
    """It cannot be told what is to be kept; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """Something that is kept on a domain, in spite of all rules.

    Attributes:
        entry: as the configuration holds it.
        text: as people know it: a page's URL, else the entry.
    """

    kind: KeptKind
    domain: str
    entry: str
    text: str


def kept_things(store: Store, project: ProjectStore) -> list[KeptEntry]:
    """Return all that is kept, by domain, in the order of the configuration.

    Raises:
        StoreError: the store failed.
    """
    with store.session(read_only=True) as session:
        rows = site_configs.of_project(session.connection(), project.id)
    return _kept_in(store, project, rows)


def kept_of(store: Store, project: ProjectStore, domain: str) -> list[KeptEntry]:
    """Return what is kept on one domain, in the order of the configuration.

    Raises:
        StoreError: the store failed.
    """
    with store.session(read_only=True) as session:
        row = site_configs.get(session.connection(), project.id, domain)
    return _kept_in(store, project, [row] if row else [])


def _kept_in(store: Store, project: ProjectStore, rows: Iterable[StoredSiteConfig]) -> list[KeptEntry]:
    with store.session(read_only=True) as session:
        configs = [(one.domain, SiteConfig.from_json(dict(one.config))) for one in rows]
        pages = [bytes.fromhex(entry) for _, config in configs for entry in config.keep_pages]
        urls = LedgerReads(session, project.id).urls(pages)
    return [
        KeptEntry(kind, domain, entry, urls.get(bytes.fromhex(entry), entry) if kind is KeptKind.PAGE else entry)
        for domain, config in configs
        for kind, key in KEYS.items()
        for entry in getattr(config, key)
    ]


def find_kept(store: Store, project: ProjectStore, text: str, domain: str | None, settings: Settings) -> KeptEntry:
    """Return what is kept under a text.

    Raises:
        UndoError: nothing is, or on several domains.
        UrlError: it begins like a URL, and is none.
        StoreError: the store failed.
    """
    text = text.strip()
    entry = keys_of(text, settings).page_key.hex() if URL.match(text) else text
    entries = {entry, entry.lower()} if BLOCK.fullmatch(entry) else {entry}
    found = [one for one in kept_things(store, project) if one.entry in entries and domain in (None, one.domain)]
    if not found:
        raise UndoError(f"{text!r} is not kept{f' on {domain}' if domain else ''}: see undo --list")
    if len(found) > 1:
        raise UndoError(f"{text!r} is kept on several domains: name one by --domain, of {_named(found)}")
    return found[0]


def _named(found: list[KeptEntry]) -> str:
    domains = [one.domain for one in found]
    return ", ".join(domains[:_MOST_NAMED]) + (" ..." if len(domains) > _MOST_NAMED else "")
