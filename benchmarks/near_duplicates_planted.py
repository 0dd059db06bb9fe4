"""Are edited copies found among 100,000 stored pages?

The stored pages are sentences of real pages in random order, no sentence twice on a page; a copy has a date changed,
words changed, a sentence added, removed, or moved, and counts if the exact similarity is still 0.85 or more.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from benchmarks.near_duplicates_cost import AT_ONCE, DOMAIN, SCOPE, key_of
from scrapy_dedup.core.duplicates import promising, resemblance, shingles, sketch_of
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.records import SignatureRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

_STORED = 100_000
_COPIES = 2_000
_ALIKE = 0.85
_LOOKED_AT = 8
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FEWEST_WORDS = 8
_BUCKETS = (0.85, 0.9, 0.95)


@dataclass(slots=True)
class _Found:
    copies: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    edits: Counter[str] = field(default_factory=Counter)
    candidates: int = 0
    skipped: int = 0
    others: int = 0
    lookup_seconds: float = 0.0

    def figures(self) -> dict[str, Any]:
        total = self.copies.total()
        return {
            "copies": total,
            "recall": self.found.total() / total,
            "by_jaccard": {name: [self.found[name], self.copies[name]] for name in sorted(self.copies)},
            "edits": dict(sorted(self.edits.items())),
            "candidates_a_lookup": self.candidates / total,
            "skipped_by_signature": self.skipped,
            "other_page_found": self.others,
            "lookup_ms": self.lookup_seconds / total * 1_000,
        }


def measure(pages: Sequence[Sequence[str]], stored: int = _STORED, copies: int = _COPIES) -> dict[str, Any]:
    """Return how many copies were found."""
    sentences = _sentences(pages)
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/dedup.db") as store:
        project = store.project("planted")
        for start in range(0, stored, AT_ONCE):
            _write(project, [_record(number, sentences) for number in range(start, start + AT_ONCE)])
        found = _look(project, sentences, stored, copies)
    figures = {"stored": stored, "sentences": len(sentences)} | found.figures()
    print("\n".join(f"{name:24}{value}" for name, value in figures.items()))
    return figures


def _sentences(pages: Sequence[Sequence[str]]) -> list[str]:
    parts = (sentence for page in pages for block in page for sentence in _SENTENCE.split(block))
    return sorted({sentence for sentence in parts if len(sentence.split()) >= _FEWEST_WORDS})


def _page(number: int, sentences: Sequence[str]) -> list[str]:
    """Return the sentences of a stored page, the same each time."""
    rng = random.Random(number)
    return rng.sample(sentences, rng.randint(8, 50))


def _record(number: int, sentences: Sequence[str]) -> SignatureRecord:
    found = sketch_of(shingles(" ".join(_page(number, sentences))), SCOPE)
    return SignatureRecord(key_of(number), DOMAIN, key_of(number), sketch=found)


def _write(project: ProjectStore, records: list[SignatureRecord]) -> None:
    with project._database.transaction(write=True) as connection:  # noqa: SLF001 (no crawl here)
        shared.write_signatures(connection, project.id, records)


def _look(project: ProjectStore, sentences: Sequence[str], stored: int, copies: int) -> _Found:
    rng, total = random.Random(7), _Found()
    while total.copies.total() < copies:
        number, kind = rng.randrange(stored), rng.choice(sorted(_EDITS))
        page = _page(number, sentences)
        own = shingles(" ".join(_EDITS[kind](list(page), rng, sentences)))
        alike = resemblance(own, shingles(" ".join(page)))
        if alike < _ALIKE or alike == 1:
            continue
        bucket = f"from {max(edge for edge in _BUCKETS if edge <= alike)}"
        total.copies[bucket] += 1
        total.edits[kind] += 1
        start = process_time()
        mine = sketch_of(own, SCOPE)
        assert mine is not None
        with project._database.transaction() as connection:  # noqa: SLF001
            candidates = shared.candidates(connection, project.id, mine.bands)
        looked_at = promising(mine, candidates, _ALIKE, _LOOKED_AT)
        total.lookup_seconds += process_time() - start
        total.candidates += len(candidates)
        keys = {candidate.page_key for candidate in looked_at}
        total.skipped += key_of(number) not in keys and any(one.page_key == key_of(number) for one in candidates)
        # Only the copied page's text is at hand: another one that is looked at is no copy of this page.
        total.others += len(keys - {key_of(number)})
        total.found[bucket] += key_of(number) in keys and resemblance(own, shingles(" ".join(page))) >= _ALIKE
    return total


Edit = Callable[[list[str], random.Random, Sequence[str]], list[str]]


def _number(page: list[str], rng: random.Random, _: Sequence[str]) -> list[str]:
    """Add a line with a date and a counter, as templates do: it differs from the stored one, which has none."""
    at = rng.randrange(len(page))
    return [
        *page[:at],
        f"Updated {rng.randint(1, 28)} March {rng.randint(1990, 2030)} {rng.randrange(9999)}",
        *page[at:],
    ]


def _words(page: list[str], rng: random.Random, sentences: Sequence[str]) -> list[str]:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(page))
        words = page[at].split()
        words[rng.randrange(len(words))] = rng.choice(rng.choice(sentences).split())
        page[at] = " ".join(words)
    return page


def _added(page: list[str], rng: random.Random, sentences: Sequence[str]) -> list[str]:
    page.insert(rng.randrange(len(page)), rng.choice(sentences))
    return page


def _removed(page: list[str], rng: random.Random, _: Sequence[str]) -> list[str]:
    page.pop(rng.randrange(len(page)))
    return page


def _moved(page: list[str], rng: random.Random, _: Sequence[str]) -> list[str]:
    page.insert(rng.randrange(len(page)), page.pop(rng.randrange(len(page))))
    return page


def _digits(page: list[str], rng: random.Random, _: Sequence[str]) -> list[str]:
    """Change every number of the page by one."""
    return [re.sub(r"\d+", lambda found: str(int(found[0][:9]) + rng.randint(1, 9)), sentence) for sentence in page]


_EDITS: dict[str, Edit] = {
    "line with a date": _number,
    "words changed": _words,
    "sentence added": _added,
    "sentence removed": _removed,
    "sentence moved": _moved,
    "numbers changed": _digits,
}
