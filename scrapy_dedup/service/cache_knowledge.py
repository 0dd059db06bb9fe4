"""`knowledge.jsonl`: what an export holds beside pages, a fact a line: domains, and every URL that was met."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from scrapy_dedup.core.urls import extract_domain, page_key
from scrapy_dedup.service.cache_files import CacheFileError, open_file, replacing
from scrapy_dedup.service.cache_pages import FORMAT
from scrapy_dedup.service.cache_values import WrongValueError, from_plain, read_time, to_plain
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.cache_reads import CacheReads
from scrapy_dedup.store.records import BoilerplateRecord, CrawledUrlRecord, ValidatorRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

_ROWS_AT_ONCE: Final = 5_000
_DOMAINS_AT_ONCE: Final = 50
# Of what repeats on a domain: 10,000 blocks with their evidence are 4 MB.
_MAX_LINE_BYTES: Final = 64_000_000
_HEADER_BYTES: Final = 10_000
# Made by the database.
_ROW_FIELDS: Final = ("id", "project_id", "created_at")


@dataclass(frozen=True, slots=True)
class Learned:
    """What repeats on a domain, and when that was found."""

    record: BoilerplateRecord
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class WrongFact:
    """A line that says nothing."""

    line: int
    reason: str


Fact = Learned | ValidatorRecord | CrawledUrlRecord | WrongFact


def write_knowledge(store: Store, project: ProjectStore, path: Path) -> None:
    """Write what is known of a project's domains and URLs."""
    with replacing(path) as opened:
        _write(opened, {"project": project.name, "format": FORMAT})
        with store.session(read_only=True) as session:
            trust = CacheReads(session, project.id).validators()
        for each in trust:
            _write(opened, {"validators": to_plain(each)})
        for fact in _boilerplate(store, project):
            _write(opened, fact)
        for fact in _urls(store, project):
            _write(opened, fact)


def _write(opened: IO[bytes], fact: dict[str, Any]) -> None:
    opened.write(json.dumps(fact).encode() + b"\n")


def _boilerplate(store: Store, project: ProjectStore) -> Iterator[dict[str, Any]]:
    after: tuple[str, str] | None = None
    while True:
        with store.session(read_only=True) as session:
            some = CacheReads(session, project.id).knowledge(after, _DOMAINS_AT_ONCE)
        if not some:
            return
        yield from ({"boilerplate": to_plain(each, _ROW_FIELDS)} for each in some)
        after = (some[-1].domain, some[-1].method)


def _urls(store: Store, project: ProjectStore) -> Iterator[dict[str, Any]]:
    after: bytes | None = None
    while True:
        with store.session(read_only=True) as session:
            some = CacheReads(session, project.id).urls(after, _ROWS_AT_ONCE)
        if not some:
            return
        yield from ({"url": to_plain(each)} for each in some)
        after = some[-1].page_key


def read_owner(path: Path) -> str:
    """Return the project that the knowledge is of.

    Raises:
        MissingFileError: there is no such file.
        CacheFileError: it is damaged, or of another format.
    """
    with open_file(path) as opened:
        return _owner(opened.readline(_HEADER_BYTES))


def _owner(line: bytes) -> str:
    try:
        header = json.loads(line)
        owner, number = header["project"], header["format"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise CacheFileError("is damaged in line 1") from error
    if number != FORMAT:
        raise CacheFileError(f"has format {str(number)[:20]!r}; this version reads format {FORMAT}")
    return str(owner)


def read_knowledge(path: Path, settings: Settings) -> Iterator[Fact]:
    """Iterate over the facts; a line that says nothing is told, and the others count.

    Raises:
        MissingFileError: there is no such file.
        CacheFileError: it is damaged in its first line, or of another format.
    """
    with open_file(path) as opened:
        _owner(opened.readline(_HEADER_BYTES))
        number = 1
        while line := opened.readline(_MAX_LINE_BYTES):
            number += 1
            try:
                yield _fact(json.loads(line), settings)
            except WrongValueError as error:
                yield WrongFact(number, str(error))
            except (ValueError, RecursionError):
                yield WrongFact(number, "is damaged or truncated")


def _fact(held: Any, settings: Settings) -> Fact:
    if not isinstance(held, dict) or len(held) != 1:
        raise WrongValueError("a fact: needs an object with one name")
    ((kind, plain),) = held.items()
    if kind == "validators":
        return from_plain(ValidatorRecord, plain)
    if kind == "boilerplate":
        return Learned(from_plain(BoilerplateRecord, plain), read_time(plain.get("updated_at")))
    if kind == "url":
        return _url(plain, settings)
    raise WrongValueError(f"{str(kind)[:40]!r}: is no kind of fact")


def _url(plain: Any, settings: Settings) -> CrawledUrlRecord:
    record = from_plain(CrawledUrlRecord, plain)
    if page_key(record.url, url_rules(settings)) != record.page_key:
        raise WrongValueError("page_key: is not that of the URL under today's DEDUP_URL_ settings")
    if record.domain != (extract_domain(record.url, settings.domain_scope) or ""):
        raise WrongValueError("domain: is not that of the URL under today's DEDUP_DOMAIN_SCOPE")
    return record
