"""What was removed wrongly, and is kept from now on."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from scrapy_dedup.service.answers.undo import kept_answer, undone_answer
from scrapy_dedup.service.undoing import find, find_kept, kept_things, undo
from scrapy_dedup.web import models_kept as models
from scrapy_dedup.web.api.asked import DomainInQuery, DryRun, Here, now, reads, writes
from scrapy_dedup.web.etags import answered, done
from scrapy_dedup.web.models import LONGEST

router = APIRouter(tags=["kept"])


@router.get("/projects/{project}/kept", operation_id="list_kept", responses=reads(models.KeptListAnswer, "By domain."))
def list_all(asked: Here, domain: DomainInQuery = None) -> Response:
    """Return what is kept in spite of all rules."""
    wanted = domain.lower() if domain else None
    kept = [kept_answer(one) for one in kept_things(*asked.known) if wanted in (None, one.domain)]
    return answered(asked.request, {"kept": kept})


@router.post(
    "/projects/{project}/kept",
    operation_id="keep",
    responses=writes(models.UndoneAnswer, "What is kept, and which pages are to be cleaned again for it."),
)
def keep(asked: Here, body: models.KeepBody) -> Response:
    """Keep a block, a page, or what a rule removes; `refine` or the next crawl brings it back."""
    found = find(*asked.known, body.target, body.domain.lower() if body.domain else None, asked.settings)
    return done(undone_answer(undo(*asked.known, found, asked.settings, None if body.dry_run else now())))


@router.delete(
    "/projects/{project}/kept",
    operation_id="stop_keeping",
    responses=writes(models.UndoneAnswer, "What is not kept any more."),
)
def stop(
    asked: Here,
    target: Annotated[
        str,
        Query(description="As it was kept.", min_length=1, max_length=LONGEST, examples=["9f1c2ab0d4e57768"]),
    ],
    domain: DomainInQuery = None,
    *,
    dry_run: DryRun = False,
) -> Response:
    """Let the rules act again on what was kept."""
    found = find_kept(*asked.known, target, domain.lower() if domain else None, asked.settings)
    at = None if dry_run else now()
    return done(undone_answer(undo(*asked.known, found, asked.settings, at, take_back=True)))
