"""Wrong removals, turned into what is kept from now on, and taken back again.

Whatever reads or writes the store raises StoreError where that fails.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import from_hex
from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.service.cut.cleaning import LAYERS
from scrapy_dedup.service.cut.removals import removals_in
from scrapy_dedup.service.cut.site_patterns import PDF_PATTERN, TEXT_PATTERN, names_of, patterns_of, text_rule
from scrapy_dedup.service.patterns import PATIENT, Changed, TrialBound, change_config, merged, stored_config
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.reads import Reads
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


class KeptEntry(Struct, frozen=True):
    """Something that is kept on a domain, in spite of all rules.

    Attributes:
        entry: as the configuration holds it.
        text: as people know it: a page's URL, else the entry.
    """

    kind: KeptKind
    domain: str
    entry: str
    text: str


def kept_things(project: ProjectStore, domain: str | None = None) -> list[KeptEntry]:
    """Return all that is kept, or what is on one domain, by domain, in the order of the configuration."""
    rows = project.site_configs() if domain is None else filter(None, [project.site_config(domain)])
    with project.session(read_only=True) as session:
        configs = [(one.domain, SiteConfig.from_json(dict(one.config))) for one in rows]
        pages = [bytes.fromhex(entry) for _, config in configs for entry in config.keep_pages]
        urls = Reads(session, project.id).urls(pages)
    return [
        KeptEntry(kind, name, entry, urls.get(bytes.fromhex(entry), entry) if kind is KeptKind.PAGE else entry)
        for name, config in configs
        for kind, key in KEYS.items()
        for entry in getattr(config, key)
    ]


def find_kept(project: ProjectStore, text: str, domain: str | None, settings: Settings) -> KeptEntry:
    """Return what is kept under a text.

    Raises:
        UndoError: nothing is, or on several domains.
        UrlError: it begins like a URL, and is none.
    """
    text = text.strip()
    entry = keys_of(text, settings).page_key.hex() if URL.match(text) else text
    entries = {entry, entry.lower()} if BLOCK.fullmatch(entry) else {entry}
    found = [one for one in kept_things(project, domain) if one.entry in entries]
    if not found:
        raise UndoError(f"{text!r} is not kept{f' on {domain}' if domain else ''}: see undo --list")
    if len(found) > 1:
        raise UndoError(
            f"{text!r} is kept on several domains: name one by --domain, of {_named(one.domain for one in found)}"
        )
    return found[0]


def _named(domains: Iterable[str]) -> str:
    found = sorted(domains)
    return ", ".join(found[:_MOST_NAMED]) + (" ..." if len(found) > _MOST_NAMED else "")


class Undone(Struct, frozen=True):
    """What became of it, or would.

    Attributes:
        pages: stored pages that lost what is kept now.
        changed: the site's configuration.
        was_there: it was kept before, or, of one that is taken back, was not.
    """

    kept: KeptEntry
    pages: int
    changed: Changed
    was_there: bool


def undo(
    project: ProjectStore,
    kept: KeptEntry,
    settings: Settings,
    at: datetime | None,
    *,
    take_back: bool = False,
    bound: TrialBound = PATIENT,
) -> Undone:
    """Keep something from now on, or not any more; tell how many pages lost it.

    *kept* is what `find` returned; *at* None: only tell what would change;
    *take_back*: it is not kept any more.

    Raises:
        PatternError: the configuration holds what cannot be used.
    """
    present = stored_config(project, kept.domain) or SiteConfig()
    key = KEYS[kept.kind]
    if take_back:
        config = present.changed(key, [one for one in getattr(present, key) if one != kept.entry])
    else:
        config = merged(present, key, [kept.entry])
    pages = _pages(project, kept)
    changed = change_config(project, kept.domain, config, settings, at, bound)
    return Undone(kept, pages, changed, was_there=config == present)


def find(project: ProjectStore, text: str, domain: str | None, settings: Settings) -> KeptEntry:
    """Return what a text names: a block by 16 hexadecimal digits, a page by its URL, a rule by a name or a path.

    *domain* is None where it was removed on one domain alone; *settings* say which URLs are one page.

    Raises:
        UndoError: nothing was removed by that name, or on several domains.
        UrlError: it begins like a URL, and is none.
    """
    text = text.strip()
    if URL.match(text):
        return _page(project, text, domain, settings)
    if BLOCK.fullmatch(text):
        domains = _domains_of_block(project, text.lower(), domain)
        return KeptEntry(KeptKind.BLOCK, _one(domains, text, domain, "block"), text.lower(), text.lower())
    domains = _domains_of_rule(project, text, domain)
    if not domains and domain is not None and _is_known_rule(project, text, domain, settings):
        domains = Counter({domain: 0})
    if not domains:
        raise UndoError(_no_rule(project, text, domain))
    return KeptEntry(KeptKind.RULE, _one(domains, text, domain, "rule"), text, text)


def _page(project: ProjectStore, url: str, domain: str | None, settings: Settings) -> KeptEntry:
    keys = keys_of(url, settings)
    if domain is not None and domain != keys.domain:
        raise UndoError(f"{url} is a page of {keys.domain}, not of {domain}")
    page = project.page(keys.page_key)
    if page is None:
        raise UndoError(f"{url} was never met in project {project.name!r}: see explain")
    crawled = page.crawled_url
    if page.document is None and crawled is not None and crawled.alias_kind == "redirect" and crawled.document_key:
        with project.session(read_only=True) as session:
            target = Reads(session, project.id).urls([crawled.document_key])
        raise UndoError(f"{url} is a redirect: name the page that it leads to, {', '.join(target.values())}")
    return KeptEntry(KeptKind.PAGE, keys.domain, keys.page_key.hex(), url)


def _pages(project: ProjectStore, kept: KeptEntry) -> int:
    """Return how many stored pages lost what is named."""
    if kept.kind is KeptKind.PAGE:
        return 1
    found = _domains_of_block if kept.kind is KeptKind.BLOCK else _domains_of_rule
    return found(project, kept.entry, kept.domain)[kept.domain]


def _domains_of_block(project: ProjectStore, digits: str, domain: str | None) -> Counter[str]:
    """Return how many pages of each domain lost a block.

    Raises:
        UndoError: an expression took it, which looks at no blocks.
    """
    pages: set[tuple[str, bytes]] = set()
    expressions: set[str] = set()
    key = from_hex(digits)
    with project.session(read_only=True) as session:
        for of_domain, decision in Reads(session, project.id).removals(LAYERS, domain):
            removal = removals_in(decision).get(key)
            if removal is not None and removal.rule.name in (TEXT_PATTERN, PDF_PATTERN):
                expressions.add(removal.rule.path)
            elif removal is not None:
                pages.add((of_domain, decision.page_key))
    if expressions and not pages:
        named = min(expressions)
        raise UndoError(f"an expression took {digits}, and expressions look at no blocks: name the rule, {named!r}")
    return Counter(of_domain for of_domain, _ in pages)


def _domains_of_rule(project: ProjectStore, name: str, domain: str | None) -> Counter[str]:
    """Return how many pages of each domain lost something by a rule."""
    pages = {(of_domain, page_key) for of_domain, page_key, names in _rules(project, domain) if name in names}
    return Counter(of_domain for of_domain, _ in pages)


def _rules(project: ProjectStore, domain: str | None) -> Iterator[tuple[str, bytes, frozenset[str]]]:
    """Iterate over (domain, page key, names of the rules) of all removals."""
    with project.session(read_only=True) as session:
        for of_domain, decision in Reads(session, project.id).removals(LAYERS, domain):
            rules = {removal.rule for removal in removals_in(decision).values()}
            yield of_domain, decision.page_key, frozenset(name for rule in rules for name in names_of(rule))


def _is_known_rule(project: ProjectStore, name: str, domain: str, settings: Settings) -> bool:
    """Whether a site has a pattern of this name, although it removed nothing so far."""
    patterns = patterns_of(settings, stored_config(project, domain), domain)
    rules = [one.rule for one in patterns.targets]
    rules += [text_rule(one.source) for one in patterns.text.members]
    rules += [text_rule(one.source, PDF_PATTERN) for one in patterns.pdf.members]
    return any(name in names_of(rule) for rule in rules)


def _no_rule(project: ProjectStore, text: str, domain: str | None) -> str:
    known = sorted({name for _, _, names in _rules(project, domain) for name in names})
    near = difflib.get_close_matches(text[:200], known[:10_000], n=1)
    where = f" on {domain}" if domain else ""
    hint = f"did you mean {near[0]!r}?" if near else "explain shows the names of rules, blocks and pages"
    return f"no stored page{where} lost anything by {text[:200]!r}: {hint}"


def _one(domains: Counter[str], text: str, domain: str | None, kind: str) -> str:
    """Return the domain that is meant."""
    if domain is not None:
        return domain
    if not domains:
        raise UndoError(
            f"no stored page lost the {kind} {text}: explain shows which were removed; or name its --domain"
        )
    if len(domains) > 1:
        raise UndoError(
            f"the {kind} {text!r} was removed on several domains: name one by --domain, of {_named(domains)}"
        )
    return next(iter(domains))
