"""Facts of pages, and a run in which they are compared: a test overrides what it is about."""

from collections.abc import Sequence
from typing import Any

from scrapy_dedup.core.duplicates import shingles, sketch_of
from scrapy_dedup.core.pages.fingerprints import text_hash
from scrapy_dedup.service.duplicates.chunking import Stopwatch, divide
from scrapy_dedup.service.duplicates.index import DuplicateIndex, PageComparison
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import DocumentRecord, Record, SourceRecord
from scrapy_dedup.store.records.shared import Holders
from scrapy_dedup.store.writer import ProjectStore
from tests.hospital.words import prose
from tests.store.builders import DOMAIN, NOON, a_document, a_key, a_source

SETTINGS = Settings()


def a_paragraph(name: object) -> str:
    """Return a section that is long enough to be a chunk of its own."""
    return f"## Part {name}\n\n{prose(('paragraph', name), 5)}"


def a_fact(name: object, paragraphs: Sequence[object], settings: Settings = SETTINGS, **fields: Any) -> PageFacts:
    """Return what others may have of a page that consists of some paragraphs; `title` gives it one."""
    text = "\n\n".join(map(a_paragraph, paragraphs))
    title, domain = fields.pop("title", None), fields.get("domain", DOMAIN)
    language = fields.get("language", "")
    of_domain = domain if settings.near_duplicate_scope == "domain" else ""
    defaults: dict[str, Any] = {
        "page_key": a_key(name),
        "domain": domain,
        "title_key": text_hash(title) if title else None,
        "text_hash": text_hash(text),
        "language": language,
        "text": text,
        "sketch": sketch_of(shingles(text), f"{of_domain} {language}".encode()),
        "chunks": divide(text, a_key(name), None, settings, Stopwatch()),
    }
    return PageFacts(**{**defaults, **fields})


class Run:
    """Pages that are compared one after the other, or at once, over a real store."""

    def __init__(self, project: ProjectStore, settings: Settings = SETTINGS) -> None:
        self.project = project
        self.settings = settings
        self.index = DuplicateIndex(project)
        self.rows: list[Record] = []

    def ask(self, facts: PageFacts) -> Holders:
        return self.index.ask(facts, self.settings)

    def decide(self, facts: PageFacts, found: Holders) -> PageComparison:
        """Compare a page by what the store said of it; what is learnt waits to be written."""
        comparison = self.index.compare(facts, found, self.settings)
        self.rows += [self.document(facts), self.source(facts)]
        self.rows += [*comparison.knowledge(self.settings), *comparison.decisions(NOON)]
        return comparison

    def give(self, facts: PageFacts) -> PageComparison:
        return self.decide(facts, self.ask(facts))

    def fail(self, facts: PageFacts) -> None:
        self.rows += [self.document(facts, status="failed"), self.index.withdraw(facts.page_key, self.settings)]

    def write(self) -> None:
        """Write what waits, and let the store alone remember it."""
        self.project.write(self.rows)
        self.rows.clear()

    def later(self) -> "Run":
        """Return another run on the same store, which knows nothing but that."""
        self.write()
        return Run(self.project, self.settings)

    def document(self, facts: PageFacts, **fields: Any) -> DocumentRecord:
        return a_document(None, **{"page_key": facts.page_key, "domain": facts.domain, **fields})

    def source(self, facts: PageFacts) -> SourceRecord:
        return a_source(None, page_key=facts.page_key, domain=facts.domain, cleaned_content=facts.text)


def given(comparison: PageComparison) -> list[str]:
    return [one.chunk.text for one in comparison.chunks.given]
