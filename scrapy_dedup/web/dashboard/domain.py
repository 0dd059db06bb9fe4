"""One domain: its page, its blacklisting, and the pictures of its layouts."""

from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.documents import layout_svg
from scrapy_dedup.report.nav import Button, Flash
from scrapy_dedup.report.values import ReportPicture, boxes_from
from scrapy_dedup.service.report.dashboard_domains import DomainFormError, read_until
from scrapy_dedup.service.templates.layout_figures import REST_NAME
from scrapy_dedup.service.views.domain_views import domain_view
from scrapy_dedup.service.views.page_lists import PageCursorError
from scrapy_dedup.store.records.layout_records import from_digits
from scrapy_dedup.store.tables.models import REST
from scrapy_dedup.web.dashboard.frame import Form
from scrapy_dedup.web.dashboard.opened import DomainInPath, Here
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(prefix="/p/{project_id}")
BY: Final = "dashboard"
_LONGEST_REASON: Final = 400
# An image may load nothing, and run nothing if somebody opens it alone.
_PICTURE_POLICY: Final = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"


@router.get("/domains/{domain}")
def one_domain(here: Here, domain: DomainInPath) -> Response:
    """Return the page about a domain; `after` says which part of its pages."""
    try:
        view = domain_view(here.known, domain, here.settings, datetime.now(UTC), here.asked("after", 300))
    except PageCursorError:
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
