"""What is decided about domains: their configurations, and what was removed wrongly and is kept from now on."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import Field

from scrapy_dedup.answers import config as answers
from scrapy_dedup.core.patterns.config import SiteConfig
from scrapy_dedup.service import patterns as configs
from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.service.views.undoing import find, find_kept, kept_things, undo
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.web.api.asked import LONGEST, Body, DomainInPath, DomainInQuery, DryRun, Here, Switch, UrlInQuery
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import OpenProject

# Patterns may be slow: after this the answer tells of the pages that were tried by then.
_TRIAL_SECONDS: Final = 20.0
router = APIRouter(prefix="/projects/{project}")
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


class KeepBody(Body):
    """What is to stay: a block (16 hexadecimal digits), a page (its URL), or a rule, as explanations show it."""

    target: Annotated[str, Field(min_length=1, max_length=LONGEST, examples=["9f1c2ab0d4e57768"])]
    domain: Annotated[str | None, Field(max_length=300, examples=["example.org"])] = None
    dry_run: Switch = False


Given = ConfigBody | PipelineIn | PipelineBody


@router.get("/config", tags=["config"], response_description="By domain, those about which anything is decided.")
def list_configs(asked: Here) -> answers.ConfigsAnswer:
    """Return what is decided about each domain."""
    return answers.ConfigsAnswer.made(asked.project.name, asked.project.site_configs())


@router.get("/domains/{domain}/config", tags=["config"], response_description="The configuration, and its version.")
def get_config(asked: Here, domain: DomainInPath) -> answers.ConfigAnswer:
    """Return what is decided about a domain."""
    return answers.ConfigAnswer.made(domain, asked.project.site_config(domain))


@router.put("/domains/{domain}/config", tags=["config"], response_description="What was stored.")
def put_config(asked: Here, domain: DomainInPath, body: Given) -> answers.ConfigChangesAnswer:
    """Decide about a domain, in place of what was decided; its pages are then to be cleaned again."""
    return _put(asked, domain, _config(body))


@router.delete("/domains/{domain}/config", tags=["config"], response_description="Version 0: nothing is decided.")
def delete_config(asked: Here, domain: DomainInPath) -> answers.ConfigChangesAnswer:
    """Forget what was decided about a domain."""
    return _put(asked, domain, SiteConfig())


@router.post(
    "/domains/{domain}/config/trial", tags=["config"], response_description="How many stored pages would change."
)
def try_config(asked: Here, domain: DomainInPath, body: Given) -> answers.ConfigChangesAnswer:
    """Return what a configuration would change on the stored pages; nothing is written."""
    config = _config(body)
    trial = configs.try_config(asked.known, domain, config, asked.settings, seconds=_TRIAL_SECONDS)
    return answers.ConfigChangesAnswer.of(changes=[configs.TriedConfig(domain, config, trial)], dry_run=True)


@router.get("/pages/patterns", tags=["config"], response_description="What each pattern does on the page.")
def test_patterns(asked: Here, url: UrlInQuery) -> answers.PatternTestAnswer:
    """Return what the patterns of its domain leave out of a stored page."""
    keys = keys_of(url, asked.settings)
    page = asked.project.page(keys.page_key)
    source = page.source if page else None
    reading = read_again(source, asked.settings) if source else None
    if reading is None:
        raise ProblemError(404, f"{url[:500]} is not stored, or its original is not kept")
    return answers.PatternTestAnswer.of(configs.try_on_page(asked.project, keys.domain, reading, asked.settings))


def _config(body: Given) -> SiteConfig:
    return SiteConfig.from_json(body.model_dump(exclude_defaults=True) or {})


def _put(asked: OpenProject, domain: str, config: SiteConfig) -> answers.ConfigChangesAnswer:
    changed = configs.put_config(asked.project, domain, config, asked.settings, now())
    return answers.ConfigChangesAnswer.of(changes=[changed], dry_run=False)


@router.get("/kept", tags=["kept"], response_description="By domain.")
def list_kept(asked: Here, domain: DomainInQuery = None) -> answers.KeptListAnswer:
    """Return what is kept in spite of all rules."""
    return answers.KeptListAnswer.of(kept=kept_things(*asked.known, domain.lower() if domain else None))


@router.post(
    "/kept", tags=["kept"], response_description="What is kept, and which pages are to be cleaned again for it."
)
def keep(asked: Here, body: KeepBody) -> answers.UndoneAnswer:
    """Keep a block, a page, or what a rule removes; `refine` or the next crawl brings it back."""
    found = find(*asked.known, body.target, body.domain.lower() if body.domain else None, asked.settings)
    return answers.UndoneAnswer.made(undo(*asked.known, found, asked.settings, None if body.dry_run else now()))


@router.delete("/kept", tags=["kept"], response_description="What is not kept any more.")
def stop_keeping(
    asked: Here,
    target: Annotated[
        str, Query(description="As it was kept.", min_length=1, max_length=LONGEST, examples=["9f1c2ab0d4e57768"])
    ],
    domain: DomainInQuery = None,
    *,
    dry_run: DryRun = False,
) -> answers.UndoneAnswer:
    """Let the rules act again on what was kept."""
    found = find_kept(*asked.known, target, domain.lower() if domain else None, asked.settings)
    at = None if dry_run else now()
    return answers.UndoneAnswer.made(undo(*asked.known, found, asked.settings, at, take_back=True))
