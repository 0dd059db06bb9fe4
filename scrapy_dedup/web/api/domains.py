"""The registry: which domains there are, which of them are not to be crawled, and what is decided about each."""

from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import Field

from scrapy_dedup.answers import domains as answers
from scrapy_dedup.core.domains import DomainStatus
from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.service import patterns as configs
from scrapy_dedup.service.domains.candidates import candidates_of
from scrapy_dedup.service.domains.registry import ChosenDomains, DomainService, UnknownDomainError
from scrapy_dedup.store.domains.lists import DomainChoice, DomainSort
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.web.api.asked import LONGEST, After, Body, DomainInPath, DryRun, Here, Limit, Named, WriteBody
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import OpenProject

router = APIRouter(prefix="/projects/{project}", tags=["domains"])
Names = Annotated[list[Named], Field(min_length=1, max_length=1_000, examples=[["spam.example", "www.ads.example"]])]


class RegisterBody(Body):
    """Domains to register, in any spelling, or as URLs of them."""

    domains: Names


class BlacklistBody(WriteBody):
    """Domains to blacklist; one with `*` or `?` stands for all registered ones that it fits."""

    domains: Names
    reason: Annotated[str | None, Field(max_length=LONGEST, examples=["spam"])] = None
    by: Annotated[str, Field(description="Who wants it.", min_length=1, max_length=200, examples=["rest"])] = "rest"
    expires_at: Annotated[
        datetime | None, Field(description="From then on it holds no more.", examples=["2027-01-01T00:00:00+00:00"])
    ] = None


@router.get("/domains", response_description="Some of the domains, and how many there are of which kind.")
def list_domains(
    asked: Here,
    pattern: Annotated[
        str | None, Query(description="A part of names; with `*` or `?` all of it.", max_length=300, examples=["tea"])
    ] = None,
    status: Annotated[answers.Status | None, Query(description="Only these.", examples=["BLACKLISTED"])] = None,
    sort: Annotated[DomainSort, Query(description="By this, then by name.", examples=["pages"])] = "name",
    *,
    descending: Annotated[bool, Query(description="Largest first.", examples=[True])] = False,
    limit: Limit = 50,
    after: After = None,
) -> answers.DomainListAnswer:
    """Return the registered domains."""
    wanted = DomainStatus(status) if status else None
    choice = DomainChoice(pattern, wanted, sort, descending=descending, limit=limit, after=after)
    service = _service(asked)
    found = service.list_domains(choice)
    return answers.DomainListAnswer.of(found, service.counts(), project=asked.project.name)


@router.post("/domains", response_description="The domains, and which of them are new.")
def register_domains(asked: Here, body: RegisterBody) -> answers.ChangedDomainsAnswer:
    """Register domains; those that are there stay as they are."""
    service = _service(asked)
    chosen = service.choose(body.domains)
    service.register_domains(chosen.new, now())
    return _changed(asked, service, chosen, dry_run=False)


@router.get(
    "/domains/{domain}", response_description="The domain, or the one that it was joined to, with its last candidates."
)
def show_domain(asked: Here, domain: DomainInPath) -> answers.OneDomainAnswer:
    """Return what is known of a domain."""
    service = _service(asked)
    found = service.find_by_domain_name(domain)
    if found is None:
        raise ProblemError(404, f"domain {domain!r} is not registered in project {asked.project.name!r}")
    joined = service.joined_with(found)
    candidates = candidates_of(asked.project, (found.domain_name, joined))
    return answers.OneDomainAnswer.made(found, joined, candidates, now())


@router.get("/blacklist", response_description="Some of the domains whose blacklist holds now, by name.")
def list_blacklist(asked: Here, limit: Limit = 50, after: After = None) -> answers.BlacklistAnswer:
    """Return the domains that are not crawled; `next` is the last name, where there are more."""
    found = _service(asked).get_blacklisted_domains(now(), after=after or "", limit=limit + 1)
    more = found[limit - 1].domain_name if len(found) > limit else None
    return answers.BlacklistAnswer.of(project=asked.project.name, domains=found[:limit], next=more)


@router.post(
    "/blacklist", response_description="The domains as they are now; in a dry run those that would be changed."
)
def blacklist_domains(asked: Here, body: BlacklistBody) -> answers.ChangedDomainsAnswer:
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
    "/blacklist", response_description="The domains as they are now; in a dry run those that would be changed."
)
def unblacklist_domains(
    asked: Here,
    domain: Annotated[
        list[Named],
        Query(description="A name, or with `*` or `?` all that it fits.", max_length=1_000, examples=[["*.example"]]),
    ],
    *,
    dry_run: DryRun = False,
) -> answers.ChangedDomainsAnswer:
    """End the blacklist of domains, of all or none: they are what they were before."""
    service = _service(asked)
    chosen = service.choose(domain)
    if chosen.new:
        raise UnknownDomainError(f"domain {chosen.new[0]!r} is not registered")
    listed = tuple(one for one in chosen.domains if one.status == DomainStatus.BLACKLISTED)
    if listed and not dry_run:
        service.unblacklist_domains([one.domain_name for one in listed], now())
    return _changed(asked, service, ChosenDomains(listed, (), chosen.unmatched), dry_run=dry_run)


def _service(asked: OpenProject) -> DomainService:
    return DomainService(asked.project, asked.settings)


def _changed(
    asked: OpenProject, service: DomainService, chosen: ChosenDomains, *, dry_run: bool
) -> answers.ChangedDomainsAnswer:
    domains = chosen.domains if dry_run else service.matching(chosen.names)
    return answers.ChangedDomainsAnswer.of(chosen, project=asked.project.name, dry_run=dry_run, domains=domains)


config = APIRouter(prefix="/projects/{project}", tags=["config"])
_TRIED: Final = configs.TrialBound(seconds=10.0)
Entries = Annotated[tuple[str, ...], Field(examples=[[]])]


class PipelineBody(Body):
    """What is to be left out, and what is to stay in spite of it."""

    boilerplate_css_selectors: Annotated[Entries, Field(examples=[[".custom-header", ".custom-nav"]])] = ()
    boilerplate_text_patterns: Entries = ()
    pdf_boilerplate_patterns: Entries = ()
    keep_blocks: Entries = ()
    keep_pages: Entries = ()
    keep_rules: Entries = ()


class PipelineIn(Body):
    """A configuration under `pipeline`."""

    pipeline: PipelineBody


class ConfigBody(Body):
    """A configuration as another system has it."""

    config: PipelineBody | PipelineIn


Given = ConfigBody | PipelineIn | PipelineBody


@config.get("/config", response_description="By domain, those about which anything is decided.")
def list_configs(asked: Here) -> answers.ConfigsAnswer:
    """Return what is decided about each domain."""
    return answers.ConfigsAnswer.made(asked.project.name, asked.project.site_configs())


@config.get("/domains/{domain}/config", response_description="The configuration, and its version.")
def get_config(asked: Here, domain: DomainInPath) -> answers.ConfigAnswer:
    """Return what is decided about a domain."""
    return answers.ConfigAnswer.made(domain, asked.project.site_config(domain))


@config.put(
    "/domains/{domain}/config", response_description="What was stored; in a dry run, what it would change on pages."
)
def put_config(
    asked: Here, domain: DomainInPath, body: Given, *, dry_run: DryRun = False
) -> answers.ConfigChangesAnswer:
    """Decide about a domain, in place of what was decided; its pages are then to be cleaned again."""
    return _put(asked, domain, SiteConfig.from_json(body.model_dump(exclude_defaults=True) or {}), dry_run=dry_run)


@config.delete(
    "/domains/{domain}/config", response_description="Version 0: nothing is decided; in a dry run, what that changes."
)
def delete_config(asked: Here, domain: DomainInPath, *, dry_run: DryRun = False) -> answers.ConfigChangesAnswer:
    """Forget what was decided about a domain."""
    return _put(asked, domain, SiteConfig(), dry_run=dry_run)


def _put(asked: OpenProject, domain: str, config: SiteConfig, *, dry_run: bool) -> answers.ConfigChangesAnswer:
    at = None if dry_run else now()
    change = configs.change_config(asked.project, domain, config, asked.settings, at, _TRIED)
    return answers.ConfigChangesAnswer.of(changes=[change], dry_run=dry_run)
