"""What a cleaning run does in any of its processes: learn one domain, clean a lot of records."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct, field

from scrapy_dedup.core.duplicates import NO_FIELDS, PageEvidence, SiteSeen, blocks_of_text, own_words
from scrapy_dedup.core.urls.canonical import Declaration
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.service.cut.cleaning import counts_of
from scrapy_dedup.service.cut.page_cleaning import CleanedPage, clean_page, clean_pdf, uncleaned_row
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.duplicates.page_facts import PageFacts, declaration_of, facts_of
from scrapy_dedup.service.files.inputs_records import BadRecord, Found, InputPage, NoPage
from scrapy_dedup.service.pdf.reading import pdf_text
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.templates.site_knowledge import RecentKnowledge, SiteKnowledge, learn_site
from scrapy_dedup.settings import Settings

# Of the process, since a shelf comes anew with each task.
_recent: Final = RecentKnowledge()

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
PROJECT: Final = b""
"""Stands for the one project of a run, whose pages meet nobody else's."""
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


class KnownDomains(Protocol):
    """What is known of each domain, wherever it lies."""

    def get(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain."""


class Shelf:
    """One folder; a small value that is sent to other processes."""

    def __init__(self, folder: str) -> None:
        """Take a folder that nobody else writes to."""
        self._folder = folder

    def put(self, knowledge: SiteKnowledge) -> None:
        """Keep what is known of a domain; nobody has asked for it yet."""
        path = self._path(knowledge.domain)
        part = f"{path}.part"
        Path(part).write_text(json.dumps(knowledge.to_json()), encoding="utf-8")
        # A worker that asks meanwhile finds it whole or not at all.
        Path(part).replace(path)

    def get(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain."""
        path = self._path(domain)
        # Not remembered: of domains that nothing is known of there may be very many.
        if not os.path.exists(path):  # noqa: PTH110 (many times faster than a Path)
            return None
        return _recent.get(path, lambda: Path(path).read_text(encoding="utf-8"))

    def _path(self, domain: str) -> str:
        # A domain's own name could be too long, or one that Windows keeps to itself.
        return f"{self._folder}/{sha256(domain.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


class Learned(Struct, frozen=True):
    """What became of learning a domain.

    Attributes:
        failure: of ours; the pages are cleaned by the fallback.
    """

    domain: str
    pages: int
    layouts: int = 0
    templates: int = 0
    failure: str | None = None


class CleanedLine(Struct, frozen=True):
    """One page, cleaned.

    Attributes:
        row: of the output.
        how: it was cut: by a template, by the fallback, or left whole.
        flag: why it was not cut as it should; None for most.
        facts: by which it is compared with the other pages; None where it is not.
        evidence: what it shows; None where it is not compared.
        own_words: how many of its words are no other page's of its site.
        counts: what was left out of it, by the names of a crawl's stats without `dedup/`.
        is_kept: somebody decided that it stays as it is.
        canonical: the page that it names as the one whose other address it is.
    """

    row: dict[str, Any]
    how: str
    flag: str | None
    facts: PageFacts | None = None
    canonical: Declaration | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    is_kept: bool = False
    evidence: PageEvidence | None = None
    own_words: int = 0


Result: TypeAlias = CleanedLine | BadRecord | NoPage


def learn_domain(given: tuple[Settings, Shelf, str, Sequence[tuple[str, str]]]) -> Learned:
    """Learn a domain from (URL, HTML) of some pages, and put it on the shelf."""
    settings, shelf, domain, pages = given
    try:
        knowledge = learn_site(domain, pages, settings)
    except Exception as error:  # noqa: BLE001 (one domain must not end the others)
        return Learned(domain, len(pages), failure=named(error))
    shelf.put(knowledge)
    live = sum(one.state == "live" for one in knowledge.templates.values())
    return Learned(domain, len(pages), len(knowledge.index.layouts), live)


def clean_records(given: tuple[Settings, KnownDomains, Sequence[Found]]) -> list[Result]:
    """Clean some records, in their order."""
    settings, known, records = given
    return [_cleaned(one.page(settings), settings, known) for one in records]


def _cleaned(page: InputPage | BadRecord | NoPage, settings: Settings, known: KnownDomains) -> Result:
    if not isinstance(page, InputPage):
        return page
    domain = extract_domain(page.url, settings.domain_scope) or ""
    try:
        patterns = patterns_of(settings, None, domain)
        if page.pdf is not None:
            cleaned = clean_pdf(page.pdf, page.url, settings, patterns)
        else:
            cleaned = clean_page(page.html, page.url, known.get(domain) if domain else None, settings, patterns)
        is_read = cleaned.page is not None or cleaned.pdf is not None
        facts = facts_of(cleaned, PROJECT, url_rules(settings), settings) if is_read else None
        evidence = _evidence(cleaned, page.html, site_seen(known, domain, settings), settings)
    except Exception as error:  # noqa: BLE001 (no page is missing because of a defect of ours)
        flag = f"error: {named(error)}"
        return CleanedLine(uncleaned_row(page.url, page.html, {"how": "whole", "flag": flag}), "whole", flag)
    row = cleaned.row(settings)
    said = declaration_of(page.url, cleaned.page) if cleaned.page is not None and cleaned.page.canonicals else None
    is_kept = patterns.keeps_page(cleaned.page_key)
    counts = counts_of(cleaned.cleaned)
    return CleanedLine(row, str(cleaned.how), cleaned.flag, facts, said, counts, is_kept, *evidence)


def site_seen(known: KnownDomains, domain: str, settings: Settings) -> SiteSeen:
    """Return by what it is told which text of a domain's pages is their own; as in a crawl, a shadow proves nothing."""
    knowledge = known.get(domain) if domain and "boilerplate" in settings.acting else None
    return knowledge.seen if knowledge is not None else SiteSeen()


def _evidence(cleaned: CleanedPage, html: str, site: SiteSeen, settings: Settings) -> tuple[PageEvidence | None, int]:
    """Return what a page shows, and how many words of it are its own."""
    if cleaned.page is None and cleaned.pdf is None:
        return None, 0
    source = pdf_text(cleaned.pdf, settings) if cleaned.pdf is not None else html
    page = cleaned.page
    blocks = blocks_of_text(source) if page is None else [(block.fingerprint, block.text) for block in page.blocks]
    with_numbers = settings.near_duplicate == "drop"
    evidence = PageEvidence.of(source, blocks, cleaned.url, with_numbers=with_numbers)
    evidence.note_cut({one.removal.fingerprint for one in cleaned.cleaned.removed})
    # A file has no fields beside its text.
    evidence.add(NO_FIELDS)
    return evidence, own_words(blocks, site)


def as_json(row: dict[str, Any]) -> bytes:
    """Return a row as a line of output, with its end."""
    text = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # JSON in UTF-8 has no lone surrogates
        return _LONE_SURROGATE.sub(_REPLACEMENT, text).encode()


def named(error: Exception) -> str:
    """Return what went wrong, in one line."""
    return f"{type(error).__name__}: {error}"[:200]
