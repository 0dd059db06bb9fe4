"""Which pages were found new, changed or removed since a run or a date, with what changed on them.

Whatever reads or writes the store raises StoreError where that fails.
"""

import re
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import asdict

from scrapy_dedup.core.errors import InvalidError
from scrapy_dedup.core.pages.blocks import Unparsed, parse_page
from scrapy_dedup.core.pages.fingerprints import from_hex
from scrapy_dedup.core.recrawl.verdicts import MainText, Passage, Repeats, block_key, main_text, unified_diff
from scrapy_dedup.service.crawl.commits import LAYER
from scrapy_dedup.service.cut.site_cleaning import frames_of
from scrapy_dedup.service.policies import parse_limits
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.settings.parsers import duration
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.records.records import HTML_FIELDS
from scrapy_dedup.store.records.stored import ChangeChoice, StoredChange, StoredRun, StoredSource, StoredVisit
from scrapy_dedup.store.writer import ProjectStore

VERDICTS: Final = ("new", "changed", "removed")
LAST: Final = "last"
DIFF: Final = "diff"
_RUNS_SEARCHED: Final = 100_000
_RUNS_NAMED: Final = 3
_AGO: Final = re.compile(r"\d{1,5}[hdw]")
_PREFIX: Final = re.compile(r"[0-9a-f-]{1,36}")

NOT_KEPT: Final = (
    "the version before is not kept; DEDUP_KEEP_PAGES = 2 or more keeps it in future, DEDUP_DIFF = True the diff"
)
NO_TEXT: Final = "a version cannot be parsed: it is larger or deeper than DEDUP_MAX_PAGE_BYTES and its like allow"
NO_PASSAGE: Final = "no passage of the main text differs"


class SinceError(InvalidError):
    """What was said names neither a run nor an instant."""


class Since(Struct, frozen=True):
    """From when on; run_id where it is the beginning of a run."""

    at: Annotated[datetime, Meta(tz=True)]
    run_id: uuid.UUID | None = None


class ChangesChoice(Struct, frozen=True):
    """Which changes; None does not limit them.

    Attributes:
        diff: with the text that changed.
    """

    domain: str | None = None
    verdict: str | None = None
    diff: bool = False


class PageChange(StoredChange, frozen=True, kw_only=True):
    """A page, as one visit found it.

    Attributes:
        diff: of a changed page, if it was asked for, what changed; None where nobody knows.
        no_diff: why it is None.
    """

    diff: str | None = None
    no_diff: str | None = None


def since(project: ProjectStore, said: str, now: datetime) -> Since:
    """Return what `last`, a run's id or its beginning, a date or an age such as `7d` stands for.

    An age goes before a run whose id begins so: of that run more digits tell.

    Raises:
        SinceError: nothing, or several runs.
    """
    word = said.strip().lower()
    ago = _AGO.fullmatch(word)
    found = None if ago else find_run(project, word)
    if found is not None:
        return Since(found.started_at, found.id)
    if word == LAST:
        raise SinceError(f"project {project.name!r} has no run yet: run a crawl first")
    try:
        if ago:
            return Since(now - duration(word))
        at = datetime.fromisoformat(said.strip())
        return Since((at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise SinceError(
            f"{said[:80]!r} is no run of project {project.name!r}, which `scrapy dedup runs` lists, no date such as "
            "2026-03-01 or 2026-03-01T12:00, and no age such as 7d or 12h"
        ) from error


def find_run(project: ProjectStore, word: str) -> StoredRun | None:
    """Return the run that `last`, an id or how one begins names; None where there is no such run.

    Raises:
        SinceError: several ids begin so.
    """
    if word == LAST:
        return next(iter(project.last_runs(1)), None)
    if not _PREFIX.fullmatch(word):
        return None
    found = [run for run in project.last_runs(_RUNS_SEARCHED) if str(run.id).startswith(word)]
    if len(found) > 1:
        some = ", ".join(str(run.id) for run in found[:_RUNS_NAMED])
        raise SinceError(f"{word!r} is the beginning of {len(found)} runs ({some} ...): give more digits")
    return found[0] if found else None


def count_changes(project: ProjectStore, start: Since, choice: ChangesChoice) -> Counter[str]:
    """Return how many changes there are of each verdict."""
    return Counter(project.count_changes(ChangeChoice(start.at, choice.verdict, choice.domain)))


def iterate_changes(
    project: ProjectStore, start: Since, choice: ChangesChoice, settings: Settings
) -> Iterator[PageChange]:
    """Iterate over the changes in the order of time; a page that changed twice comes twice."""
    for change in project.changes(ChangeChoice(start.at, choice.verdict, choice.domain)):
        wanted = choice.diff and change.verdict == "changed"
        diff, no_diff = _told(project, change, settings) if wanted else (None, None)
        yield PageChange(**asdict(change), diff=diff, no_diff=no_diff)


def _told(project: ProjectStore, visit: StoredVisit, settings: Settings) -> tuple[str | None, str | None]:
    """Return what changed at a visit, or why nobody knows."""
    try:
        return _diff(project, visit, settings)
    except DamagedError as error:
        return None, f"{error}; the page's next change will have a diff again"


def _diff(project: ProjectStore, visit: StoredVisit, settings: Settings) -> tuple[str | None, str | None]:
    for decision in project.decisions(visit.page_key):
        if decision.layer == LAYER and decision.run_id == visit.run_id:
            text = (decision.detail or {}).get(DIFF)
            if isinstance(text, str) and text:
                return text, None
    return _between_versions(project, visit.page_key, visit.at, settings)


def last_diff(project: ProjectStore, page_key: bytes, settings: Settings) -> tuple[str | None, str | None]:
    """Return what changed on a page the last time that it did, or why nobody knows."""
    found = [one for one in project.decisions(page_key) if one.layer == LAYER and (one.detail or {}).get(DIFF)]
    if found:
        return str((max(found, key=lambda one: one.decided_at).detail or {})[DIFF]), None
    try:
        return _between_versions(project, page_key, None, settings)
    except DamagedError as error:
        return None, f"{error}; the page's next change will have a diff again"


def _between_versions(
    project: ProjectStore, page_key: bytes, until: datetime | None, settings: Settings
) -> tuple[str | None, str | None]:
    """Return how the newest version that is not younger than an instant differs from the one before."""
    page = project.page(page_key)
    if page is None or page.source is None or page.source.content is None:
        return None, NOT_KEPT
    source = page.source
    # Only a change is stored as a version: what the visit brought is the newest that is not younger than it.
    versions = [(source.fetched_at, source.content or "")]
    versions += [(version.fetched_at, version.content) for version in project.versions(page_key)]
    known = [content for at, content in versions if until is None or at <= until]
    if len(known) < 2:
        return None, NOT_KEPT
    new, old = known[:2]
    texts = _texts(project, old, new, source, settings) if source.field in HTML_FIELDS else (_lines(old), _lines(new))
    if texts is None:
        return None, NO_TEXT
    diff = unified_diff(*texts)
    return (diff, None) if diff else (None, NO_PASSAGE)


def _lines(content: str) -> MainText:
    return MainText(passages=tuple(Passage("", line) for line in content.splitlines() if line.strip()))


def _texts(
    project: ProjectStore, before: str, after: str, source: StoredSource, settings: Settings
) -> tuple[MainText, MainText] | None:
    """Return what two versions of a page say; None where one cannot be parsed."""
    old, new = (parse_page(content, parse_limits(settings)) for content in (before, after))
    if isinstance(old, Unparsed) or isinstance(new, Unparsed):
        return None
    # What the domain is known to repeat today.
    knowledge = project.knowledge(source.domain)
    of_html = knowledge.get("template") or knowledge.get("html")
    repeated = frozenset(map(from_hex, of_html.boilerplate_hashes)) if of_html else frozenset[int]()
    # What is known of a domain takes letters of either case for one; what compares two versions does not.
    keys = (block_key(one) for page in (old, new) for one in page.blocks if one.fingerprint in repeated)
    repeats = Repeats(frozenset(keys))
    was, now = frames_of(old, new, source.url, site_of(source.domain, project.templates(source.domain)))
    return main_text(old, repeats, was), main_text(new, repeats, now)
