"""One page: why it is as it is, and the stored page itself in a sandbox."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from scrapy_dedup.report.numbers import count
from scrapy_dedup.report.values import ExplainedPage
from scrapy_dedup.service.patterns import stored_config
from scrapy_dedup.service.views.changes import NOT_KEPT, last_diff
from scrapy_dedup.service.views.explain import Explanation, UrlError, explain, page_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import HTML_FIELDS
from scrapy_dedup.store.records.stored import StoredState
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import Here, Opened
from scrapy_dedup.web.problems import ProblemError

PAGE = "page"


class PageView(Struct, frozen=True):
    """One page as the dashboard shows it.

    Attributes:
        key: 32 hexadecimal digits.
        diff: what changed the last time, as a unified diff; "" where nobody knows, or nothing did.
        no_diff: why there is none.
        has_original: the stored page can be shown.
        kept: fingerprints, names of rules and "page", of what is kept from now on.
        is_waiting: the page is to be cleaned again.
    """

    explained: ExplainedPage
    domain: str
    key: str
    diff: str = ""
    no_diff: str = ""
    change: str = ""
    has_original: bool = False
    kept: frozenset[str] = frozenset()
    is_waiting: bool = False


def page_view(project: ProjectStore, found: Explanation, settings: Settings, at: datetime) -> PageView:
    """Return what is shown of an explained page.

    Raises:
        StoreError: the store failed.
    """
    key = found.document.page_key if found.document else found.keys.page_key
    state = project.page_states([key]).get(key)
    diff, no_diff = _change(project, key, state, settings)
    config = stored_config(project, found.keys.domain)
    kept = frozenset((*config.keep_blocks, *config.keep_rules)) if config else frozenset()
    if config and key.hex() in config.keep_pages:
        kept |= {PAGE}
    return PageView(
        explained=_with_facts(page_of(found, at), found, state),
        domain=found.keys.domain,
        key=key.hex(),
        diff=diff,
        no_diff=no_diff,
        has_original=found.source is not None and found.source.content is not None,
        kept=kept,
        is_waiting=state is not None and state.stale is not None,
    )


def _change(project: ProjectStore, key: bytes, state: StoredState | None, settings: Settings) -> tuple[str, str]:
    diff, why = last_diff(project, key, settings)
    if diff is None and why == NOT_KEPT and (state is None or not state.changes_count):
        return "", ""  # it never changed: there is nothing that could have been kept
    return diff or "", why or ""


def _with_facts(page: ExplainedPage, found: Explanation, state: StoredState | None) -> ExplainedPage:
    """Return the page with its hashes and visits among the facts."""
    document = found.document
    more: list[tuple[str, str]] = []
    if document is not None:
        more += [("verdict", document.verdict)] if document.verdict else []
        more += [("content hash", document.content_hash.hex())] if document.content_hash else []
        more += [("cleaned hash", document.cleaned_hash.hex())] if document.cleaned_hash else []
    if state is not None:
        more += _visits(state)
    return replace(page, facts=(*page.facts, *more))


def _visits(state: StoredState) -> Sequence[tuple[str, str]]:
    facts = [("first seen", f"{state.first_seen_at:%Y-%m-%d %H:%M} UTC")]
    facts.append(("visits", f"{count(state.visits_count, 'visit')}, {count(state.changes_count, 'change')}"))
    if state.last_changed_at is not None:
        facts.append(("last changed", f"{state.last_changed_at:%Y-%m-%d %H:%M} UTC"))
    return facts


router = APIRouter(prefix="/p/{project_id}")
# Whatever is in the page: no script, no form, no file, no address of its own; and nobody else may frame it.
RAW_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
_KEY_CHARS: Final = 32


@router.get("/page")
def one_page(here: Here) -> Response:
    """Return one page, by its address (`url`) or its key (`key`)."""
    url = here.asked("url") or _address(here, here.asked("key", _KEY_CHARS))
    try:
        found = explain(here.project, url, here.settings)
    except UrlError as error:
        return here.show("unknown_page.html", status=422, url=url, why=str(error))
    if not found.is_known:
        return here.show("unknown_page.html", status=404, url=url, why="This address was never met")
    view = page_view(here.project, found, here.settings, datetime.now(UTC))
    return here.show("page.html", view=view, refine=here.refine())


@router.get("/page/raw")
def stored_page(here: Here) -> Response:
    """Return a stored page as it came: for a frame that runs and loads nothing."""
    page = here.project.page(_key(here.asked("key", _KEY_CHARS)))
    source = page.source if page else None
    if source is None or source.content is None:
        raise ProblemError(404, "the original of this page is not kept")
    kind = "text/html" if source.field in HTML_FIELDS else "text/plain"
    headers = {"Content-Security-Policy": RAW_POLICY, "Content-Type": f"{kind}; charset=utf-8"}
    return Response(source.content.encode("utf-8", "replace"), headers=headers)


def _address(here: Opened, key: str) -> str:
    """Return the URL of a page that is named by its key; "" where no key was given.

    Raises:
        ProblemError: there is no such page.
    """
    if not key:
        return ""
    page = here.project.page(_key(key))
    parts = (page.document, page.crawled_url, page.source) if page else ()
    url = next((part.url for part in parts if part is not None), None)
    if url is None:
        raise ProblemError(404, "there is no such page")
    return url


def _key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError as error:
        raise ProblemError(404, "a page's key has 32 hexadecimal digits") from error
    if 2 * len(key) != _KEY_CHARS:
        raise ProblemError(404, "a page's key has 32 hexadecimal digits")
    return key
