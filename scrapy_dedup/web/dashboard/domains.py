"""The registry: its table, changes of many domains, shown before they are made; each domain, and what stays on it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, cast, get_args
from uuid import UUID

from fastapi import APIRouter
from msgspec import Struct
from starlette.responses import Response

from scrapy_dedup.core.domains import STATUSES, DomainStatus
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.patterns import KEYS, SiteConfig
from scrapy_dedup.report.drawing import layout_svg
from scrapy_dedup.report.numbers import count
from scrapy_dedup.report.values import ReportPicture, boxes_from
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.service.patterns import TrialBound
from scrapy_dedup.service.report.dashboard import (
    BY,
    ChangePlan,
    DomainFormError,
    Verb,
    carry_out,
    plan_change,
    read_until,
    take_back,
)
from scrapy_dedup.service.templates.layout_figures import (
    REST_NAME,
    DomainLayout,
    UnknownLayoutError,
    domain_layouts,
    name_of,
)
from scrapy_dedup.service.views.page_lists import PageChoice, PageList, list_pages
from scrapy_dedup.service.views.undoing import KeptEntry, KeptKind, find, find_kept, kept_things, undo
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.layouts import PictureFacts
from scrapy_dedup.store.domains.lists import SORTS, DomainChoice
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.engine.codec import CursorError
from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records.records import from_digits
from scrapy_dedup.store.records.stored import RepeatedBlock, StoredAlarm
from scrapy_dedup.store.tables.models import REST
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import REFINE, Button, DomainInPath, Flash, Form, Here, Opened
from scrapy_dedup.web.problems import ProblemError

LAYOUTS: Final = 24
BLOCKS: Final = 40
PAGES: Final = 25
# Counting goes on where nobody looks any more; so many are told from "more".
_BLOCKS_COUNTED: Final = 2_000


class LayoutView(Struct, frozen=True):
    """A layout with its name as people say it: 16 hexadecimal digits, or `rest`."""

    name: str
    layout: DomainLayout
    picture: PictureFacts | None


class DomainView(Struct, frozen=True):
    """One domain as the dashboard shows it.

    Attributes:
        at: as of when.
        alarms: (layout's name, that its template does not fit).
        blocks: those on most pages first; there are `all_blocks`.
        kept: what people keep in spite of all rules; kept_blocks: fingerprints among it.
        is_continued: these are not its first pages.
    """

    domain: str
    at: datetime
    registered: StoredDomain | None
    layouts: Sequence[LayoutView]
    all_layouts: int
    alarms: Sequence[tuple[str, StoredAlarm]]
    blocks: Sequence[RepeatedBlock]
    all_blocks: int
    kept: Sequence[KeptEntry]
    kept_blocks: frozenset[str]
    pages: PageList
    is_continued: bool = False
    config_entries: int = 0


def domain_view(
    project: ProjectStore, domain: str, settings: Settings, at: datetime, after: str = ""
) -> DomainView | None:
    """Return what is shown of a domain, with its pages behind a cursor; None where nothing is known of it.

    Raises:
        CursorError: the part begins at no place of its list.
        StoreError: the store failed.
    """
    found = DomainService(project, settings).find_by_domain_name(domain)
    layouts, all_layouts, alarms = _layouts(project, domain)
    pages = list_pages(project, PageChoice(domain=domain, limit=PAGES, after=after or None))
    stored = project.site_config(domain)
    config = SiteConfig.from_json(dict(stored.config)) if stored else SiteConfig()
    with project.session(read_only=True) as session:
        blocks = Reads(session, project.id).repeated_blocks(_BLOCKS_COUNTED, domain)
    if not (found or layouts or pages.pages or stored or blocks or after):
        return None
    return DomainView(
        domain=domain,
        at=at,
        registered=found,
        layouts=layouts,
        all_layouts=all_layouts,
        alarms=alarms,
        blocks=blocks[:BLOCKS],
        all_blocks=len(blocks),
        kept=kept_things(project, domain),
        kept_blocks=frozenset(config.keep_blocks),
        pages=pages,
        is_continued=bool(after),
        config_entries=sum(len(getattr(config, key)) for key in KEYS),
    )


def _layouts(project: ProjectStore, domain: str) -> tuple[Sequence[LayoutView], int, Sequence[tuple[str, StoredAlarm]]]:
    try:
        found = domain_layouts(project, domain)[0]
    except UnknownLayoutError:
        return (), 0, ()
    pictures = project.picture_facts(domain)
    layouts = [LayoutView(name_of(each.layout), each, pictures.get(each.layout)) for each in found.layouts[:LAYOUTS]]
    return layouts, len(found.layouts), [(name_of(each.layout), each) for each in found.alarms]


router = APIRouter(prefix="/p/{project_id}")
_LONGEST_REASON: Final = 400
# An image may load nothing, and run nothing if somebody opens it alone.
_PICTURE_POLICY: Final = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"
_DONE: Final = {"blacklist": "blacklisted", "unblacklist": "taken off the blacklist", "register": "registered"}
_LONGEST_PATTERN: Final = 200


@router.get("/domains")
def domain_list(here: Here) -> Response:
    """Return the table of domains: `q`, `status`, `sort`, `order` (up, down) and `after` say which part of it."""
    sort, _, order = (here.asked("sort") or "name").partition(".")
    status = here.asked("status")
    # What cannot be asked for is left out of the question.
    choice = DomainChoice(
        here.asked("q", _LONGEST_PATTERN) or None,
        DomainStatus(status) if status in STATUSES else None,
        next((one for one in SORTS if one == sort), "name"),
        descending=(here.asked("order") or order) == "down",
        after=here.asked("after") or None,
    )
    try:
        table = here.domains.list_domains(choice)
    except CursorError:
        return here.back_to(here.path("domains"), Flash("That part of the list is gone.", "wrong"))
    return here.show("domains.html", table=table, counts=here.domains.counts(), choice=choice, at=datetime.now(UTC))


@router.post("/domains/change")
def change_domains(here: Here, fields: Form) -> Response:
    """Return what a change would do; once that is confirmed, do it."""
    verb = fields.one("verb")
    texts = [*fields.get("domain", []), *fields.lines("names")]
    if verb not in get_args(Verb):
        raise ProblemError(400, "the form does not say what to do")
    path, at = here.path("domains"), datetime.now(UTC)
    if not texts:
        return here.back_to(path, Flash("No domain was chosen.", "wrong"))
    wrong, until = "", None
    try:
        plan = plan_change(here.domains, here.settings, cast("Verb", verb), texts, at)
    except DomainFormError as error:
        return here.back_to(path, Flash(str(error), "wrong"))
    try:
        until = read_until(fields.one("until"), at)
    except DomainFormError as error:
        wrong = str(error)
    if fields.one("confirmed") and not wrong:
        carry_out(here.domains, plan, at, reason=fields.one("reason")[:_LONGEST_REASON], expires_at=until)
        return here.back_to(path, _told(here, plan))
    sent = {"names": "\n".join(texts), "reason": fields.one("reason"), "until": fields.one("until")}
    return here.show("change.html", verb=verb, steps=plan.steps, sent=sent, wrong=wrong)


@router.post("/domains/undo")
def undo_change(here: Here, fields: Form) -> Response:
    """Take back a change that was made here."""
    plan = here.memory.undos.take(fields.one("code"))
    path = here.path("domains")
    if not isinstance(plan, ChangePlan):
        told = "That change cannot be taken back any more: it was already, or the server was started anew."
        return here.back_to(path, Flash(told, "wrong"))
    try:
        number = take_back(here.domains, plan, datetime.now(UTC))
    except DedupError as error:
        return here.back_to(path, Flash(str(error), "wrong"))
    return here.back_to(path, Flash(f"{count(number, 'domain')} as before."))


def _told(here: Opened, plan: ChangePlan) -> Flash:
    text = f"{count(len(plan.names), 'domain')} {_DONE[plan.verb]}."
    if plan.verb == "register":
        return Flash(text)
    code = here.memory.undos.keep(plan)
    return Flash(text, undo=Button("Undo", here.path("domains", "undo"), (("code", code),)))


@router.get("/domains/{domain}")
def one_domain(here: Here, domain: DomainInPath) -> Response:
    """Return the page about a domain; `after` says which part of its pages."""
    try:
        view = domain_view(here.project, domain, here.settings, datetime.now(UTC), here.asked("after", 300))
    except CursorError:
        return here.back_to(here.path("domains", domain), Flash("That part of the list is gone.", "wrong"))
    if view is None:
        raise ProblemError(404, f"this project knows nothing of the domain {domain}")
    return here.show("domain.html", view=view, refine=here.refine())


@router.post("/domains/{domain}/blacklist")
def blacklist(here: Here, domain: DomainInPath, fields: Form) -> Response:
    """Let crawls request nothing of a domain any more."""
    path, at = here.path("domains", domain), datetime.now(UTC)
    try:
        until = read_until(fields.one("expires"), at)
        reason = fields.one("reason")[:_LONGEST_REASON]
        here.domains.blacklist_domain(domain, at, by=BY, reason=reason or None, expires_at=until)
    except DomainFormError as error:
        return here.back_to(path, Flash(str(error), "wrong"))
    undo = Button("Undo", f"{path}/unblacklist")
    return here.back_to(path, Flash(f"{domain} is blacklisted.", undo=undo))


@router.post("/domains/{domain}/unblacklist")
def unblacklist(here: Here, domain: DomainInPath) -> Response:
    """Let crawls request a domain again."""
    path = here.path("domains", domain)
    try:
        here.domains.unblacklist_domain(domain, datetime.now(UTC))
    except DedupError as error:
        return here.back_to(path, Flash(str(error), "wrong"))
    return here.back_to(path, Flash(f"{domain} is off the blacklist."))


@router.get("/layouts/{domain}/{layout}/picture.svg")
def picture(here: Here, domain: DomainInPath, layout: str) -> Response:
    """Return how a page of a layout looks, as one SVG file."""
    stored = here.project.picture(domain, _layout(layout))
    if stored is None:
        raise ProblemError(404, "nobody looked at a page of this layout yet")
    shown = ReportPicture(stored.url, stored.picture, stored.width, stored.height, boxes_from(stored.boxes))
    headers = {"Content-Security-Policy": _PICTURE_POLICY, "Cache-Control": "private, max-age=60"}
    svg = layout_svg(shown).encode("utf-8", "replace")
    return Response(svg, media_type="image/svg+xml", headers=headers)


def _layout(text: str) -> int:
    if text == REST_NAME:
        return REST
    try:
        return from_digits(text)
    except ValueError as error:
        raise ProblemError(404, "there is no such layout") from error


_TRIED: Final = TrialBound(pages=200)
"""Somebody waits for it."""
_LONGEST_WHAT: Final = 10_000


@router.get("/keep")
def look_at_keeping(here: Here) -> Response:
    """Return what keeping a block, a page or a rule (`what`) would change, or taking that back (`take_back`)."""
    take_back = bool(here.asked("take_back", 1))
    kept = _named(here, here.asked("what", _LONGEST_WHAT), here.asked("domain"), take_back=take_back)
    found = undo(here.project, kept, here.settings, None, take_back=take_back, bound=_TRIED)
    page, sample = here.asked("page", 32), _sample(here, kept)
    back = here.way_back(kept.domain, page)
    return here.show("keep.html", kept=kept, found=found, sample=sample, take_back=take_back, back=back, page=page)


@router.post("/keep")
def keep(here: Here, fields: Form) -> Response:
    """Keep something from now on, or not any more."""
    take_back = bool(fields.one("take_back"))
    domain, page = fields.one("domain"), fields.one("page")
    kept = _named(here, fields.one("what")[:_LONGEST_WHAT], domain, take_back=take_back)
    done = undo(here.project, kept, here.settings, datetime.now(UTC), take_back=take_back)
    path = here.way_back(kept.domain, page)
    if done.was_there:
        return here.back_to(path, Flash("Nothing was to be changed."))
    word = "is not kept any more" if take_back else "is kept from now on"
    waiting = count(done.changed.stale or 0, "page")
    text = f"The {kept.kind} {word}; {waiting} of {kept.domain} to be cleaned again: refine, or crawl."
    other = (("what", kept.text), ("domain", kept.domain), ("page", page), ("take_back", "" if take_back else "1"))
    undo_it = Button("Undo", here.path("keep"), other)
    return here.back_to(path, Flash(text, undo=undo_it))


@router.post("/refine")
def refine(here: Here, fields: Form) -> Response:
    """Clean the stored pages of a domain again, as a job."""
    domain, page = fields.one("domain")[:300], fields.one("page")
    if not domain or not domain.isprintable():
        raise ProblemError(422, "a domain is needed")
    job = here.start_verb(REFINE, f"--domain={domain}")
    return here.back_to(here.way_back(domain, page, **{REFINE: str(job.id)}))


@router.get("/refine/{job_id}")
def refine_progress(here: Here, job_id: UUID) -> Response:
    """Return how far a refine is, as a piece of a page."""
    job = here.server.jobs.get(job_id)
    if job is None or job.project != here.project.name or job.kind != REFINE:
        raise ProblemError(404, "this project has no such job")
    return here.fragment("refine.html", refine=job)


def _named(here: Opened, what: str, domain: str, *, take_back: bool) -> KeptEntry:
    """Return what a text names, of what was removed, or of what is kept."""
    search = find_kept if take_back else find
    return search(here.project, what, domain.lower() or None, here.settings)


def _sample(here: Opened, kept: KeptEntry) -> str:
    """Return the text of a block; "" where nobody knows it any more."""
    if kept.kind is not KeptKind.BLOCK:
        return ""
    for known in here.project.knowledge(kept.domain).values():
        if known.evidence and kept.entry in known.evidence:
            return known.evidence[kept.entry].sample
    return ""
