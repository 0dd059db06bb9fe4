"""Templates in a file, to be kept, read, edited, and taken to another project."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.metadata.locators import Locators
from scrapy_dedup.core.pages.fingerprints import to_digits
from scrapy_dedup.core.pages.marking import check_selector
from scrapy_dedup.core.patterns.expressions import compile_expression
from scrapy_dedup.core.teacher.vision import Vision
from scrapy_dedup.core.templates.templates import Template
from scrapy_dedup.service.packed_files import read_json
from scrapy_dedup.service.stored.template_upkeep import list_templates
from scrapy_dedup.store.records.records import STATES, TemplateRecord, from_digits
from scrapy_dedup.store.records.stored import StoredTemplate
from scrapy_dedup.store.repositories import TemplateRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

FORMAT: Final = "scrapy_dedup templates"
VERSION: Final = 1
_MOST_CHARS: Final = 10_000
# Learning makes a hundred; of a page without a layout of its own, the URL is compared with the pattern of each.
_MOST_OF_DOMAIN: Final = 1_000
_TEXTS: Final = ("domain", "kind", "reason", "model")


class TemplateFileError(DedupError):
    """A file that cannot be imported; nothing was written."""


@dataclass(frozen=True, slots=True)
class ImportedTemplates:
    """What an import did, or would do: so many layouts have a new version, so many had it already."""

    added: int
    unchanged: int
    domains: tuple[str, ...]
    done: bool


def export_templates(project: ProjectStore, domain: str | None = None) -> dict[str, Any]:
    """Return the present version of each template, as plain JSON; equal templates give equal JSON.

    Raises:
        UnknownLayoutError: there is none.
        StoreError: the store failed.
    """
    wanted = {(one.domain, one.layout, one.version) for one, _ in list_templates(project, domain)}
    domains = sorted({name for name, _, _ in wanted})
    stored = (one for name in domains for one in project.templates(name, live_only=False))
    rows = [_as_json(one) for one in stored if (one.domain, one.layout, one.version) in wanted]
    return {"format": FORMAT, "version": VERSION, "templates": rows}


def _as_json(one: StoredTemplate) -> dict[str, Any]:
    return {
        "domain": one.domain,
        "layout": to_digits(one.layout),
        "structure": to_digits(one.structure),
        "state": one.state,
        "kind": one.kind,
        "url_pattern": one.url_pattern,
        "confidence": one.confidence,
        "pages": one.pages,
        "reason": one.reason,
        "model": one.model,
        "algorithm_version": one.algorithm_version,
        "selectors": dict(one.selectors),
        "overrides": list(one.overrides),
        "paths": list(one.paths),
        "body": dict(one.body),
    }


def read_templates(text: str, at: datetime) -> list[TemplateRecord]:
    """Return the templates of a file that `export_templates` wrote, each checked; a person may have edited it.

    Raises:
        TemplateFileError: it is no such file, or a template in it could not be used.
    """
    try:
        found = read_json(text)
    except (ValueError, RecursionError) as error:
        raise TemplateFileError(f"it is no JSON ({error})") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise TemplateFileError("it is no file that `scrapy dedup templates export` wrote")
    if found.get("version") != VERSION:
        raise TemplateFileError(
            f"it is of version {found.get('version')!r}, and this program reads version {VERSION}: export it again"
        )
    rows = found.get("templates")
    if not isinstance(rows, list):
        raise TemplateFileError("its `templates` are no list")
    records = [_checked(row, number, at) for number, row in enumerate(rows, 1)]
    domain, layouts = max(Counter(one.domain for one in records).items(), key=itemgetter(1), default=("", 0))
    if layouts > _MOST_OF_DOMAIN:
        raise TemplateFileError(f"it has {layouts:,} templates of {domain}: at most {_MOST_OF_DOMAIN:,} can be used")
    return records


def _checked(row: Any, number: int, at: datetime) -> TemplateRecord:
    try:
        return _record(row, at)
    except (DedupError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        told = str(error) if isinstance(error, DedupError) else f"{type(error).__name__}: {error}"
        raise TemplateFileError(f"template {number} cannot be used ({told}); nothing was imported") from error


def _record(row: Mapping[str, Any], at: datetime) -> TemplateRecord:
    body, overrides = dict(row["body"]), [dict(one) for one in row["overrides"]]
    _check_numbers(body)
    Template.from_json(body["template"])
    Locators.from_json(body["locators"])
    Vision.from_json(body.get("vision"))
    for one in overrides:
        if one["action"] not in ("keep", "drop"):
            raise ValueError(f"{one['action']!r} is no action: write keep or drop")
        check_selector(_text(one["selector"]))
    pattern = None if row["url_pattern"] is None else compile_expression(_text(row["url_pattern"])).source
    if row["state"] not in STATES:
        raise ValueError(f"{row['state']!r} is no state: write {', '.join(STATES)}")
    return TemplateRecord(
        **{name: _text(row[name]) for name in _TEXTS},
        layout=from_digits(row["layout"]),
        structure=from_digits(row["structure"]),
        body=body,
        created_at=at,
        state=row["state"],
        url_pattern=pattern,
        selectors=dict(row["selectors"]),
        overrides=overrides,
        paths=[_text(path) for path in row["paths"]],
        confidence=_share(row["confidence"]),
        pages=_count(row["pages"]),
        source="import",
        algorithm_version=_count(row["algorithm_version"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MOST_CHARS:
        raise TypeError(f"{str(value)[:50]!r} is no text of at most {_MOST_CHARS} characters")
    return value


def _check_numbers(body: Mapping[str, Any]) -> None:
    """Raise unless all numbers in a body are finite, and fit into eight bytes."""
    values: list[Any] = [body]
    for value in values:
        if isinstance(value, Mapping | list):
            values += value.values() if isinstance(value, Mapping) else value
        elif isinstance(value, int | float) and not -(2**63) <= value < 2**63:
            raise ValueError(f"{value!r:.50} is no number that a template has")


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{value!r:.50} is no number of 0 to {2**31 - 1}")
    return value


def _share(value: Any) -> float:
    share = float(value)
    if not (math.isfinite(share) and 0 <= share <= 1):
        raise ValueError(f"{value!r} is no share between 0 and 1")
    return share


def import_templates(
    store: Store, project: ProjectStore, records: Iterable[TemplateRecord], *, dry_run: bool
) -> ImportedTemplates:
    """Store templates, all or none; those that equal the newest version of their layout change nothing.

    Raises:
        StoreError: the store failed; nothing was written.
    """
    rows = list(records)
    before = _newest(project)
    with store.session(read_only=False) as session:
        numbers = TemplateRepository(session, project.id).add(rows)
        if not dry_run:
            session.commit()
    added = sum(1 for row, number in zip(rows, numbers, strict=True) if number != before.get((row.domain, row.layout)))
    domains = tuple(sorted({row.domain for row in rows}))
    return ImportedTemplates(added, len(rows) - added, domains, done=not dry_run)


def _newest(project: ProjectStore) -> dict[tuple[str, int], int]:
    return {(one.domain, one.layout): one.version for one in project.template_figures()}
