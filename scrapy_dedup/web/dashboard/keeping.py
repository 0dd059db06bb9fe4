"""What stays in spite of all rules, and cleaning the stored pages again."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.report.numbers import count
from scrapy_dedup.service.jobs.jobs import run_verb
from scrapy_dedup.service.views.undoing import KeptEntry, KeptKind, find, find_kept, foresee, undo
from scrapy_dedup.web.dashboard.frame import REFINE, Button, Flash, Form, Here, Opened
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(prefix="/p/{project_id}")
_PAGES_TRIED: Final = 200
"""Somebody waits for it."""
_LONGEST_WHAT: Final = 10_000


@router.get("/keep")
def look_at_keeping(here: Here) -> Response:
    """Return what keeping a block, a page or a rule (`what`) would change, or taking that back (`take_back`)."""
    take_back = bool(here.asked("take_back", 1))
    kept = _named(here, here.asked("what", _LONGEST_WHAT), here.asked("domain"), take_back=take_back)
    found = foresee(here.known, kept, here.settings, take_back=take_back, most=_PAGES_TRIED)
    page, sample = here.asked("page", 32), _sample(here, kept)
    back = here.way_back(kept.domain, page)
    return here.show("keep.html", kept=kept, found=found, sample=sample, take_back=take_back, back=back, page=page)


@router.post("/keep")
def keep(here: Here, fields: Form) -> Response:
    """Keep something from now on, or not any more."""
    take_back = bool(fields.one("take_back"))
    domain, page = fields.one("domain"), fields.one("page")
    kept = _named(here, fields.one("what")[:_LONGEST_WHAT], domain, take_back=take_back)
    done = undo(*here.known, kept, here.settings, datetime.now(UTC), take_back=take_back)
    path = here.way_back(kept.domain, page)
    if done.was_there or done.changed is None:
        return here.back_to(path, Flash("Nothing was to be changed."))
    word = "is not kept any more" if take_back else "is kept from now on"
    waiting = count(done.changed.stale, "page")
    text = f"The {kept.kind} {word}; {waiting} of {kept.domain} to be cleaned again: refine, or crawl."
    other = (("what", kept.text), ("domain", kept.domain), ("page", page), ("take_back", "" if take_back else "1"))
    undo_it = Button("Undo", here.path("keep"), other)
    return here.back_to(path, Flash(text, undo=undo_it))


@router.post("/refine")
def refine(here: Here, fields: Form) -> Response:
    """Clean the stored pages of a domain again, as a job."""
    domain, page = fields.one("domain")[:300].lower(), fields.one("page")
    if not domain or not domain.isprintable():
        raise ProblemError(422, "a domain is needed")
    server = here.server
    project = f"DEDUP_PROJECT={here.project.name}"
    words = ["templates", "refine", f"--domain={domain}", *server.arguments, "-s", project]
    job = server.jobs.start(REFINE, here.project.name, lambda progress: run_verb(words, server.folder, progress))
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
    return search(*here.known, what, domain.lower() or None, here.settings)


def _sample(here: Opened, kept: KeptEntry) -> str:
    """Return the text of a block; "" where nobody knows it any more."""
    if kept.kind is not KeptKind.BLOCK:
        return ""
    for known in here.project.knowledge(kept.domain).values():
        if known.evidence and kept.entry in known.evidence:
            return known.evidence[kept.entry].sample
    return ""
