"""The registry: which domains there are, and which of them are not to be crawled."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from scrapy_dedup.core.domain_names import is_pattern
from scrapy_dedup.service.answers.domains import changed_domains_answer, domain_answer, domain_list_answer
from scrapy_dedup.service.domains import DomainChoice, DomainService, DomainStatus, UnknownDomainError
from scrapy_dedup.web import models_sites as models
from scrapy_dedup.web.api.asked import After, Asked, DomainInPath, DryRun, Here, Limit, now, reads, writes
from scrapy_dedup.web.etags import answered, done
from scrapy_dedup.web.models import Named
from scrapy_dedup.web.problems import ProblemError

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
    return answered(asked.request, domain_list_answer(asked.project.name, found, service.counts()))


@router.post(
    "/projects/{project}/domains",
    operation_id="register_domains",
    responses=writes(models.ChangedDomainsAnswer, "The domains, new and old."),
)
def register(asked: Here, body: models.RegisterBody) -> Response:
    """Register domains; those that are there stay as they are."""
    found = _service(asked).register_domains(body.domains, now())
    return done(changed_domains_answer(asked.project.name, found, dry_run=False))


@router.get(
    "/projects/{project}/domains/{domain}",
    operation_id="show_domain",
    responses=reads(models.DomainAnswer, "The domain, or the one that it was joined to."),
)
def show(asked: Here, domain: DomainInPath) -> Response:
    """Return what is known of a domain."""
    found = _service(asked).find_by_domain_name(domain)
    if found is None:
        raise ProblemError(404, f"domain {domain!r} is not registered in project {asked.project.name!r}")
    return answered(asked.request, domain_answer(found))


@router.get(
    "/projects/{project}/blacklist",
    operation_id="list_blacklist",
    responses=reads(models.ChangedDomainsAnswer, "The domains whose blacklist holds now, by name."),
)
def list_blacklist(asked: Here) -> Response:
    """Return the domains that are not crawled."""
    found = _service(asked).get_blacklisted_domains(now())
    return answered(asked.request, changed_domains_answer(asked.project.name, found, dry_run=False))


@router.post(
    "/projects/{project}/blacklist",
    operation_id="blacklist_domains",
    responses=writes(models.ChangedDomainsAnswer, "The domains, as they are now, or would be chosen."),
)
def blacklist(asked: Here, body: models.BlacklistBody) -> Response:
    """Blacklist domains, all or none: from now on no crawl asks for their pages."""
    if body.expires_at is not None and body.expires_at.tzinfo is None:
        raise ProblemError(422, "expires_at needs an offset, such as 2027-01-01T00:00:00Z")
    service = _service(asked)
    if body.dry_run:
        found = service.matching(body.domains)
    else:
        names = _named(service, body.domains)
        found = service.blacklist_domains(names, now(), by=body.by, reason=body.reason, expires_at=body.expires_at)
    return done(changed_domains_answer(asked.project.name, found, dry_run=body.dry_run))


@router.delete(
    "/projects/{project}/blacklist",
    operation_id="unblacklist_domains",
    responses=writes(models.ChangedDomainsAnswer, "The domains, as they are now, or would be chosen."),
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
    if dry_run:
        found = service.matching(domain)
    else:
        names = _named(service, domain)
        found = service.unblacklist_domains(names, now()) if names else []
    return done(changed_domains_answer(asked.project.name, found, dry_run=dry_run))


def _service(asked: Asked) -> DomainService:
    return DomainService(*asked.known, asked.settings)


def _named(service: DomainService, wanted: list[str]) -> list[str]:
    """Return the names that are meant: what has no `*` is one, registered or not."""
    patterns = [one for one in wanted if is_pattern(one)]
    found = [one.domain_name for one in service.matching(patterns)] if patterns else []
    names = [one for one in wanted if not is_pattern(one)] + found
    if not names:
        raise UnknownDomainError("no registered domain fits any of the patterns")
    return names
