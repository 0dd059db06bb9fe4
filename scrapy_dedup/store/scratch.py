"""What one run over files knows of its pages: on disk, so that neither pages nor domains fill the memory."""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final, Self

from msgspec import Struct

_ROWS_AT_ONCE: Final = 1_000
MOST_SAMPLE_BYTES: Final = 64_000_000
"""Of the pages that one domain is learned from; beyond it the sample is smaller."""


class DomainPages(Struct, frozen=True):
    """How many pages a domain has (each counted once), and of how many it is learned."""

    domain: str
    pages: int
    sampled: int = 0


def _scratch(*tables: str) -> sqlite3.Connection:
    """Return a database that nobody else sees; it is gone when it is closed."""
    # Without a name SQLite keeps it in its cache, beyond that in a file. No row of it must outlive a crash.
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    for table in tables:
        database.execute(f"CREATE TABLE {table}")
    return database


class Samples:
    """The pages of all domains, and which of them each is learned from.

    Of each domain those with the smallest page keys are chosen: keys are hashes, so that the sample is evenly spread,
    and the same in whatever order the pages come.
    """

    def __init__(self) -> None:
        self._database = _scratch(
            "pages (domain TEXT, key BLOB, place INTEGER, size INTEGER, PRIMARY KEY (domain, key)) WITHOUT ROWID",
            "chosen (place INTEGER PRIMARY KEY, domain TEXT, rank INTEGER) WITHOUT ROWID",
            "sources (domain TEXT, rank INTEGER, url BLOB, html BLOB, PRIMARY KEY (domain, rank)) WITHOUT ROWID",
        )
        self._rows: list[tuple[str, bytes, int, int]] = []

    def add(self, domain: str, key: bytes, place: int, size: int) -> None:
        """Take in a page.

        A second page with the *key*, its page_key, does not count; *place* is that of its record among all, *size* the
        record's bytes.
        """
        self._rows.append((domain, key, place, size))
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._write()

    def domains(self) -> list[DomainPages]:
        """Return all domains by name."""
        self._write()
        rows = self._database.execute("SELECT domain, count(*) FROM pages GROUP BY domain ORDER BY domain")
        return [DomainPages(domain, pages) for domain, pages in rows]

    def choose(self, domain: str, most: int) -> int:
        """Choose at most so many pages of a domain, and return how many."""
        self._write()
        done = self._database.execute(
            "INSERT INTO chosen SELECT place, domain, rank FROM ("
            " SELECT place, domain, row_number() OVER by_key AS rank, sum(size) OVER by_key AS bytes FROM pages"
            " WHERE domain = ? WINDOW by_key AS (ORDER BY key)"
            ") WHERE rank <= ? AND (bytes <= ? OR rank = 1)",
            (domain, most, MOST_SAMPLE_BYTES),
        )
        return done.rowcount

    def chosen(self) -> Iterator[tuple[int, str, int]]:
        """Iterate over (place, domain, rank) of the chosen pages, by place."""
        yield from self._database.execute("SELECT place, domain, rank FROM chosen ORDER BY place")

    def put(self, domain: str, rank: int, url: str, html: str) -> None:
        """Keep the source of a chosen page."""
        self._database.execute("INSERT INTO sources VALUES (?, ?, ?, ?)", (domain, rank, _raw(url), _raw(html)))

    def sources(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Iterate over the domains by name, each with URL and HTML of its chosen pages, by rank."""
        rows = self._database.execute("SELECT domain, url, html FROM sources ORDER BY domain, rank")
        for domain, pages in groupby(rows, itemgetter(0)):
            yield domain, [(_text(url), _text(html)) for _, url, html in pages]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._database.close()

    def _write(self) -> None:
        self._database.executemany("INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?)", self._rows)
        self._rows.clear()


class ShownPages:
    """The pages that came: URL of each, and what those show that went out."""

    def __init__(self) -> None:
        self._database = _scratch("shown (key BLOB PRIMARY KEY, url BLOB, evidence BLOB)")

    def put(self, key: bytes, url: str, evidence: bytes | None) -> None:
        """Note that a page came; with its evidence, packed, that it went out."""
        self._database.execute("INSERT OR REPLACE INTO shown VALUES (?, ?, ?)", (key, _raw(url), evidence))

    def of(self, key: bytes) -> tuple[str | None, bytes | None]:
        """Return a page's URL, None where it has not come, and its evidence, None where it did not go out."""
        row = self._database.execute("SELECT url, evidence FROM shown WHERE key = ?", (key,)).fetchone()
        return (_text(row[0]), row[1]) if row is not None else (None, None)

    def close(self) -> None:
        """Forget all of them."""
        self._database.close()


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
