"""What a cleaning run does in any of its processes: learn one domain, clean a lot of records."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from scrapy_dedup.core.urls import extract_domain
from scrapy_dedup.service.cleaning_run_shelf import Shelf
from scrapy_dedup.service.inputs_records import BadRecord, Found, InputPage, NoPage
from scrapy_dedup.service.page_cleaning import clean_page
from scrapy_dedup.service.site_learning import learn_site
from scrapy_dedup.settings import Settings

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all tasks of a run share."""

    settings: Settings
    shelf: Shelf


@dataclass(frozen=True, slots=True)
class Learned:
    """What became of learning a domain.

    Attributes:
        failure: of ours; the pages are cleaned by the fallback.
    """

    domain: str
    pages: int
    layouts: int = 0
    templates: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One page, cleaned.

    Attributes:
        json: the line of output, with its end.
        how: it was cut: by a template, by the fallback, or left whole.
        flag: why it was not cut as it should; None for most.
    """

    json: bytes
    how: str
    flag: str | None


Result: TypeAlias = Line | BadRecord | NoPage


def learn_domain(given: tuple[Surroundings, str, Sequence[tuple[str, str]]]) -> Learned:
    """Learn a domain from (URL, HTML) of some pages, and put it on the shelf."""
    around, domain, pages = given
    try:
        knowledge = learn_site(domain, pages, around.settings)
    except Exception as error:  # noqa: BLE001 (one domain must not end the others)
        return Learned(domain, len(pages), failure=_named(error))
    around.shelf.put(knowledge)
    live = sum(one.state == "live" for one in knowledge.templates.values())
    return Learned(domain, len(pages), len(knowledge.index.layouts), live)


def clean_records(given: tuple[Surroundings, Sequence[Found]]) -> list[Result]:
    """Clean some records, in their order."""
    around, records = given
    return [
        one if isinstance(one, BadRecord | NoPage) else _cleaned(one.page(around.settings), around) for one in records
    ]


def _cleaned(page: InputPage | BadRecord | NoPage, around: Surroundings) -> Result:
    if not isinstance(page, InputPage):
        return page
    domain = extract_domain(page.url, around.settings.domain_scope)
    try:
        cleaned = clean_page(page.html, page.url, around.shelf.get(domain) if domain else None, around.settings)
    except Exception as error:  # noqa: BLE001 (no page is missing because of a defect of ours)
        flag = f"error: {_named(error)}"
        row = _row(page.url, page.html, {"how": "whole", "flag": flag})
        return Line(_json(row), "whole", flag)
    row = _row(page.url, cleaned.cleaned.content, cleaned.report())
    row |= {"title": cleaned.title, "date": cleaned.date, "author": cleaned.author}
    return Line(_json(row), str(cleaned.how), cleaned.flag)


def _row(url: str, content: str, report: dict[str, Any]) -> dict[str, Any]:
    return {"url": url, "cleaned_content": content, "title": None, "date": None, "author": None, "dedup": report}


def _json(row: dict[str, Any]) -> bytes:
    text = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # JSON in UTF-8 has no lone surrogates
        return _LONE_SURROGATE.sub(_REPLACEMENT, text).encode()


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
