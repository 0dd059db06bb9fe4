"""What a reader sees near a page's title: the day of publication and who wrote it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scrapy_dedup.core.blocks import Block, Page
from scrapy_dedup.core.locators import LONGEST_LINE
from scrapy_dedup.core.metadata_dates import declared_day, placed_day, written_day
from scrapy_dedup.core.metadata_facts import is_aside, is_heading, says_author, says_changed, says_date
from scrapy_dedup.core.metadata_people import byline_name, is_label

# A page with more days or names than this is a list or a thread. A thread begins with its oldest post.
_DAYS_OF_ONE_PAGE: Final = 2
_NAMES_OF_ONE_PAGE: Final = 3
_CHANGED: Final = re.compile(r"updat|modif|edited|review|aktualisiert|geändert|mis à jour", re.IGNORECASE)
_CHANGED_LABEL: Final = re.compile(
    r"(?:(?:last|page|was)\s+)*(?:updated|modified|edited|reviewed)(?:\s+on)?\s*:?", re.IGNORECASE
)
_PUBLISHED: Final = re.compile(r"publi(?:shed|é)|posted|veröffentlicht", re.IGNORECASE)
# Days of people, rights and offers.
_OTHER_DAYS: Final = re.compile(r"joined|registered|member|since|born|copyright|©|expire|deadline|until", re.IGNORECASE)


def seen_days(near: Sequence[Block]) -> tuple[str | None, str | None]:
    """Return the first day near the title, and the first that is called the day of a change."""
    published: list[tuple[str, str]] = []
    changed: list[str] = []
    is_told_changed = False
    for block in near:
        if is_aside(block.path):
            continue
        if found := placed_day(block.text):
            before = block.text[: found[0]]
            if not _OTHER_DAYS.search(before):
                if is_told_changed or _CHANGED.search(before) or says_changed(block.path):
                    changed.append(found[1])
                else:
                    published.append((block.path, found[1]))
        is_told_changed = _CHANGED_LABEL.fullmatch(block.text.strip()) is not None
    if _is_of_list([day for _, day in published]) or _is_repeated(published):
        return None, None
    return (published[0][1] if published else None), (changed[0] if changed else None)


def day_of_times(page: Page, near: Sequence[Block]) -> str | None:
    """Return the day of a page's `time` elements; where they are those of a list, the one that is told published."""
    days = [
        (day, text)
        for when, text in page.declared.times
        if not _CHANGED.search(text) and (day := declared_day(when) or written_day(text[:LONGEST_LINE]))
    ]
    if not days:
        return None
    if not _is_of_list([day[:10] for day, _ in days]):
        return days[0][0]
    told = [block.text for block in near if _PUBLISHED.match(block.text)]
    return next((day for day, text in days if text and any(text in line for line in told)), None)


def day_of_places(page: Page) -> str | None:
    """Return the day that stands in places named so; several are those of a list."""
    named = (
        block
        for block in page.blocks
        if len(block.text) <= LONGEST_LINE
        and (says_date(block.path) or _PUBLISHED.match(block.text))
        and not is_aside(block.path)
    )
    days = {day for block in named if (day := written_day(block.text))}
    return days.pop() if len(days) == 1 else None


def marked_author(page: Page) -> tuple[str, str] | None:
    """Return the first name that is marked as the author's, and the mark; links to many authors are those of a list."""
    found = [
        (name, "rel" if mark == "rel" else "itemprop")
        for mark, value in page.declared.marks
        if "date" not in mark and (name := byline_name(value, is_marked=True))
    ]
    linked = {name for name, mark in found if mark == "rel"}
    return next(((n, mark) for n, mark in found if mark != "rel" or len(linked) <= _NAMES_OF_ONE_PAGE), None)


def seen_author(near: Sequence[Block]) -> str | None:
    """Return who is named in a byline near the title."""
    for is_marked in (True, False):
        found = list(_bylines(near, is_marked=is_marked))
        names = dict.fromkeys(name for name, _ in found)
        if names:
            # Many bylines are those of a list, or of answers.
            return None if len(names) > _NAMES_OF_ONE_PAGE or _has_titles_between(near, found) else next(iter(names))
    return None


def _bylines(near: Sequence[Block], *, is_marked: bool) -> Iterator[tuple[str, int]]:
    """Give the names in bylines, and where: those whose place says so, or those that begin with "by"."""
    labelled = False
    for at, block in enumerate(near):
        told = labelled or (is_marked and says_author(block.path))
        labelled = is_label(block.text)
        if is_aside(block.path):
            continue
        if (told or not is_marked) and not labelled and (name := byline_name(block.text, is_marked=told)):
            yield name, at


def _is_of_list(days: Sequence[str]) -> bool:
    """Tell whether days are those of several pages: many, and the first is not the oldest, as it is in a thread."""
    return len(set(days)) > _DAYS_OF_ONE_PAGE and days[0] != min(days)


def _is_repeated(found: Sequence[tuple[str, str]]) -> bool:
    """Tell whether the first day's place is that of other days, too, and younger than them: the entries of a list."""
    same = [day for path, day in found if path == found[0][0]]
    return len(set(same)) > 1 and same[0] != min(same)


def _has_titles_between(near: Sequence[Block], found: Sequence[tuple[str, int]]) -> bool:
    """Tell whether headings stand between bylines of the same place: each is that of another entry."""
    first, at = found[0]
    for name, other in found[1:]:
        if name != first and near[other].path == near[at].path:
            return any(is_heading(block.path) for block in near[at + 1 : other])
    return False
