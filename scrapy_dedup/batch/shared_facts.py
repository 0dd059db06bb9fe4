"""What a page may share with others, small enough to be looked at in one place for all pages of a corpus.

A page of which nothing is shared needs no look at any other. What may be shared goes by keys of 17 bytes: equal keys on
two pages are a reason to look, never a decision.

Lookups are files of values by key that the driver writes, and every executor gets a copy of: of any size, little in
memory. Spark's broadcast variables would lie in each worker's memory.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, Self

from msgspec import Struct

from scrapy_dedup.batch.columns import raw
from scrapy_dedup.core.chunks.chunks import Chunk, ChunkKind
from scrapy_dedup.core.duplicates import PageEvidence, Sketch
from scrapy_dedup.core.pages.render import plain
from scrapy_dedup.core.urls.canonical import Declaration, Own, resolve
from scrapy_dedup.service.duplicates.chunking import JudgedChunk
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.service.files.tasks import CleanedLine
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings

_ROWS_AT_ONCE: Final = 1_000
# SQLite's bound for the values of one question was 999 once.
_ASKED_AT_ONCE: Final = 500


class LookupWriter:
    """Writes the file; whoever reads it does so when it is closed."""

    def __init__(self, path: str) -> None:
        """Begin a new file, or go on with one."""
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE IF NOT EXISTS found (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID")
        self._rows: list[tuple[bytes, str]] = []

    def put(self, key: bytes, value: str) -> None:
        """Keep a value."""
        self._rows.append((key, value))
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._write()

    def close(self) -> None:
        """Write what is left."""
        self._write()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _write(self) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR REPLACE INTO found VALUES (?, ?)", self._rows)
        self._database.execute("COMMIT")
        self._rows.clear()


def local_path(name: str) -> str:
    """Return where a file that the driver sent lies on this machine; what has a whole path lies there."""
    if os.path.isabs(name):  # noqa: PTH117 (a text, as sqlite3 takes it)
        return name
    from pyspark import SparkFiles  # noqa: PLC0415 (only tasks of Spark have such names)

    return SparkFiles.get(name)


def look_up(path: str, keys: Iterable[bytes]) -> dict[bytes, str]:
    """Return the values of those keys that a file has."""
    found: dict[bytes, str] = {}
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        some = wanted[start : start + _ASKED_AT_ONCE]
        marks = ", ".join("?" * len(some))
        question = f"SELECT key, value FROM found WHERE key IN ({marks})"  # noqa: S608 (question marks only)
        found.update(_opened(path).execute(question, some).fetchall())
    return found


@lru_cache(maxsize=8)
def _opened(path: str) -> sqlite3.Connection:
    # Nobody writes it any more: neither locks nor a look at changes are needed.
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True, check_same_thread=False)


ADDRESS: Final = b"a"
TITLE: Final = b"t"
TEXT: Final = b"x"
BAND: Final = b"b"
CHUNK: Final = b"c"
"""How a key begins. Pages that share nothing but chunks are never compared by their texts."""

_KEY_BYTES: Final = 16


class PageTally(Struct, frozen=True, array_like=True):
    """What a page adds to the figures.

    Attributes:
        how: it was cut.
        flag: why it was not cut as it should.
        counts: if it goes out.
        alone: if nothing is left out of it for another page.
        seconds: in any case.
        is_kept: somebody decided that it stays as it is.
    """

    how: str
    flag: str | None
    counts: Mapping[str, int]
    alone: Mapping[str, int]
    seconds: Mapping[str, float]
    is_kept: bool


def target_of(line: CleanedLine, settings: Settings) -> bytes | None:
    """Return the key of the other page that one declares as its address."""
    if line.canonical is None:
        return None
    found = resolve(line.canonical, url_rules(settings))
    return None if isinstance(found, Own) else found.page_key


def keys_of(line: CleanedLine, settings: Settings) -> list[bytes]:
    """Return by what a page may be found to share something, each once, in their order."""
    return sorted(set(_keys(line, settings)))


def _keys(line: CleanedLine, settings: Settings) -> Iterator[bytes]:
    facts = line.facts
    if facts is None:
        return
    yield ADDRESS + facts.page_key
    target = target_of(line, settings)
    if target is not None:
        yield ADDRESS + target
    if facts.title_key is not None:
        title = blake2b(raw(facts.domain) + b"\0" + facts.title_key, digest_size=_KEY_BYTES)
        yield TITLE + title.digest()
    yield TEXT + facts.text_hash[:_KEY_BYTES]
    for band in facts.sketch.bands if facts.sketch is not None else ():
        yield BAND + band.to_bytes(8, "big", signed=True)
    for one in facts.chunks:
        yield CHUNK + one.key


def facts_json(line: CleanedLine, settings: Settings) -> str:
    """Return a page's facts as text, without its words; `line_of` makes a page of them that can be judged."""
    facts = line.facts
    if facts is None:
        return ""
    sketch, said = facts.sketch, line.canonical if target_of(line, settings) is not None else None
    found = {
        "url": line.row["url"],
        "key": facts.page_key.hex(),
        "title": facts.title_key.hex() if facts.title_key is not None else None,
        "text": facts.text_hash.hex(),
        "language": facts.language,
        "sketch": None if sketch is None else [sketch.shingles, sketch.signature.hex(), sketch.bands],
        "siblings": sorted(one.hex() for one in facts.siblings),
        "said": None if said is None else [said.url, said.hrefs, said.base, said.lang, said.alternates],
        "evidence": line.evidence.pack().hex() if line.evidence is not None else "",
        "own_words": line.own_words,
        "chunks": [
            [one.chunk.hash.hex(), len(one.chunk.text), one.state, one.layer, one.reason, one.shadowed]
            for one in facts.chunks
        ],
    }
    return json.dumps(found)


def line_of(text: str, domain: str, words: tuple[int, str | None], settings: Settings, *, is_kept: bool) -> CleanedLine:
    """Return a page as it is judged.

    *text* is what `facts_json` returned; *words* are how many characters the page has, and the clean text, None where
    it shares nothing but chunks, so that nobody reads it; *is_kept*: somebody decided that it stays as it is.
    """
    found: dict[str, Any] = json.loads(text)
    sketch, said = found["sketch"], found["said"]
    chars, content = words
    facts = PageFacts(
        page_key=bytes.fromhex(found["key"]),
        domain=domain,
        title_key=bytes.fromhex(found["title"]) if found["title"] is not None else None,
        text_hash=bytes.fromhex(found["text"]),
        language=found["language"],
        text=" " * chars if content is None else plain(content, settings.output),
        sketch=None if sketch is None else Sketch(sketch[0], bytes.fromhex(sketch[1]), tuple(sketch[2])),
        siblings=frozenset(map(bytes.fromhex, found["siblings"])),
        chunks=[
            # Of its text nothing but the length is asked for.
            JudgedChunk(
                Chunk("", place, " " * chars, "", (), ChunkKind.PROSE, bytes.fromhex(digest), 0),
                *(state, layer, reason),
                shadowed=tuple(shadowed),
            )
            for place, (digest, chars, state, layer, reason, shadowed) in enumerate(found["chunks"])
        ],
        is_new=True,
    )
    row = {"url": found["url"], "cleaned_content": content or "", "title": None, "dedup": {}}
    canonical = None if said is None else _declaration(*said)
    evidence = PageEvidence.unpack(bytes.fromhex(found["evidence"]))
    return CleanedLine(row, "", None, facts, canonical, {}, is_kept, evidence, found["own_words"])


def _declaration(url: str, hrefs: Any, base: Any, lang: Any, alternates: Any) -> Declaration:
    return Declaration(url, tuple(hrefs), base, lang, tuple(tuple(one) for one in alternates))
