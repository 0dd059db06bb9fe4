"""The registry: which domains there are, and which of them are not to be crawled."""

import json
from io import BytesIO
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from scrapy_dedup.service.answers import domains as answers
from scrapy_dedup.service.answers.candidates import candidates_answer
from scrapy_dedup.service.candidate_files import read_proposals
from scrapy_dedup.service.candidates import CandidateIntake, candidates_of
from scrapy_dedup.service.domain_files import BadRow, read_rows
from scrapy_dedup.service.domain_transfer import import_rows
from scrapy_dedup.service.domain_twins import find_twins, settle_twins
from scrapy_dedup.service.domains import Chosen, DomainChoice, DomainService, DomainStatus, UnknownDomainError
from scrapy_dedup.web import models_domains as models
from scrapy_dedup.web.api.asked import After, Asked, DomainInPath, DryRun, Here, Limit, now, reads, writes
from scrapy_dedup.web.etags import answered, done
from scrapy_dedup.web.models import Named
from scrapy_dedup.web.problems import ProblemError

_CANDIDATES_SHOWN: Final = 50
router = APIRouter(tags=["domains"])
Sort = Literal["name", "status", "pages", "confidence", "boilerplate", "crawled"]


@router.get(
    "/projects/{project}/domains",
    operation_id="list_domains",
    responses=reads(models.DomainListAnswer, "Some of the domains, and how many there are of which kind."),
)
def list_all(
    asked: Here,
    pattern: Annotated[
        str | None, Query(description="A part of names; with `*` or `?` all of it.", max_length=300, examples=["tea"])
    ] = None,
    status: Annotated[models.Status | None, Query(description="Only these.", examples=["BLACKLISTED"])] = None,
    sort: Annotated[Sort, Query(description="By this, then by name.", examples=["pages"])] = "name",
    *,
    descending: Annotated[bool, Query(description="Largest first.", examples=[True])] = False,
    limit: Limit = 50,
    after: After = None,
) -> Response:
    """Return the registered domains."""
    wanted = DomainStatus(status) if status else None
    choice = DomainChoice(pattern, wanted, sort, descending=descending, limit=limit, after=after)
    service = _service(asked)
    found = service.list_domains(choice)
    return answered(asked.request, answers.domain_list_answer(asked.project.name, found, service.counts()))


@router.post(
    "/projects/{project}/domains",
    operation_id="register_domains",
    responses=writes(models.NewDomainsAnswer, "The domains, and which of them are new."),
)
def register(asked: Here, body: models.RegisterBody) -> Response:
    """Register domains; those that are there stay as they are."""
    service = _service(asked)
    chosen = service.choose(body.domains)
    service.register_domains(chosen.new, now())
    return _changed(asked, service, chosen, dry_run=False)


@router.get(
    "/projects/{project}/domains/{domain}",
    operation_id="show_domain",
    responses=reads(models.OneDomainAnswer, "The domain, or the one that it was joined to, with its last candidates."),
)
def show(asked: Here, domain: DomainInPath) -> Response:
    """Return what is known of a domain."""
    service = _service(asked)
    found = service.find_by_domain_name(domain)
    if found is None:
        raise ProblemError(404, f"domain {domain!r} is not registered in project {asked.project.name!r}")
    joined = service.joined_with(found)
    names = [found.domain_name, joined] if joined else [found.domain_name]
    candidates = candidates_of(asked.project, names, _CANDIDATES_SHOWN)
    return answered(asked.request, answers.one_domain_answer(found, joined, candidates, now()))


@router.post(
    "/projects/{project}/domains/join",
    operation_id="join_domains",
    responses=writes(models.PairsAnswer, "Each pair, and why it is one domain, or two."),
)
def join(asked: Here, body: models.JoinBody) -> Response:
    """Let domains with and without `www.` count as one where their pages agree, and as two where they do not."""
    names = None
    if body.domains:
        chosen = _service(asked).choose(body.domains)
        if chosen.new:
            raise UnknownDomainError(f"domain {chosen.new[0]!r} is not registered")
        names = chosen.names
    if body.dry_run:
        found = find_twins(asked.project, names, asked.settings)
    else:
        found = settle_twins(asked.project, names, asked.settings, now())
    return done(answers.twins_answer(asked.project.name, found, dry_run=body.dry_run))


@router.post(
    "/projects/{project}/domains/import",
    operation_id="import_domains",
    responses=writes(models.ImportAnswer, "How many were new, and which were refused."),
)
def import_all(asked: Here, body: models.ImportBody) -> Response:
    """Register domains with what another store knows of them."""
    lines = [json.dumps(one) for one in body.domains]
    rows = list(read_rows(lines, "domains", asked.settings.domain_scope))
    good = [row for row in rows if not isinstance(row, BadRow)]
    refused = [row for row in rows if isinstance(row, BadRow)]
    imported = import_rows(asked.project, good, now(), dry_run=body.dry_run)
    return done(answers.import_answer(asked.project.name, imported, refused, dry_run=body.dry_run))


@router.post(
    "/projects/{project}/candidates",
    operation_id="take_candidates",
    responses=writes(models.CandidatesAnswer, "What became of each URL."),
)
def candidates(asked: Here, body: models.CandidatesBody) -> Response:
    """Take what search engines proposed: a URL of a new domain makes domain and candidate, the others none."""
    at = now()
    session = body.session or f"{at:%Y-%m-%d %H:%M:%S}"
    intake = CandidateIntake(asked.project, asked.settings, session, dry_run=body.dry_run)
    lines = BytesIO("".join(json.dumps(one) + "\n" for one in body.results).encode("ascii"))
    judged = list(intake.take(read_proposals(lines, "results", body.engine), at))
    intake.finish(now())
    head = {"project": asked.project.name, "dry_run": body.dry_run, "interrupted": False}
    return done({**head, **candidates_answer(session, intake, judged)})


@router.get(
    "/projects/{project}/blacklist",
    operation_id="list_blacklist",
    responses=reads(models.BlacklistAnswer, "Some of the domains whose blacklist holds now, by name."),
)
def list_blacklist(asked: Here, limit: Limit = 50, after: After = None) -> Response:
    """Return the domains that are not crawled; `next` is the last name, where there are more."""
    found = _service(asked).get_blacklisted_domains(now(), after=after or "", limit=limit + 1)
    answer = answers.changed_domains_answer(asked.project.name, found[:limit], dry_run=False)
    more = found[limit - 1].domain_name if len(found) > limit else None
    return answered(asked.request, {**answer, "next": more})


@router.post(
    "/projects/{project}/blacklist",
    operation_id="blacklist_domains",
    responses=writes(models.NewDomainsAnswer, "The domains as they are now; in a dry run those that would be changed."),
)
def blacklist(asked: Here, body: models.BlacklistBody) -> Response:
    """Blacklist domains, all or none: from now on no crawl asks for their pages."""
    if body.expires_at is not None and body.expires_at.tzinfo is None:
        raise ProblemError(422, "expires_at needs an offset, such as 2027-01-01T00:00:00Z")
    service = _service(asked)
    chosen = service.choose(body.domains)
    if chosen.names and not body.dry_run:
        at, expires_at = now(), body.expires_at
        service.blacklist_domains(chosen.names, at, by=body.by, reason=body.reason, expires_at=expires_at)
    return _changed(asked, service, chosen, dry_run=body.dry_run)


@router.delete(
    "/projects/{project}/blacklist",
    operation_id="unblacklist_domains",
    responses=writes(models.NewDomainsAnswer, "The domains as they are now; in a dry run those that would be changed."),
)
def unblacklist(
    asked: Here,
    domain: Annotated[
        list[Named],
        Query(description="A name, or with `*` or `?` all that it fits.", max_length=1_000, examples=[["*.example"]]),
    ],
    *,
    dry_run: DryRun = False,
) -> Response:
    """End the blacklist of domains, of all or none: they are what they were before."""
    service = _service(asked)
    chosen = service.choose(domain)
    if chosen.new:
        raise UnknownDomainError(f"domain {chosen.new[0]!r} is not registered")
    listed = tuple(one for one in chosen.domains if one.status == DomainStatus.BLACKLISTED)
    if listed and not dry_run:
        service.unblacklist_domains([one.domain_name for one in listed], now())
    return _changed(asked, service, Chosen(listed, ()), dry_run=dry_run)


def _service(asked: Asked) -> DomainService:
    return DomainService(*asked.known, asked.settings)


def _changed(asked: Asked, service: DomainService, chosen: Chosen, *, dry_run: bool) -> Response:
    is_now = chosen.domains if dry_run else service.matching(chosen.names)
    answer = answers.changed_domains_answer(asked.project.name, is_now, dry_run=dry_run)
    return done({**answer, "new": list(chosen.new)})
