"""What is decided about domains."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from scrapy_dedup.answers import config as answers
from scrapy_dedup.core.patterns.config import SiteConfig
from scrapy_dedup.service import patterns as configs
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.web.api.asked import Body, DomainInPath, Here
from scrapy_dedup.web.server import OpenProject

router = APIRouter(prefix="/projects/{project}", tags=["config"])
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


@router.get("/config", response_description="By domain, those about which anything is decided.")
def list_configs(asked: Here) -> answers.ConfigsAnswer:
    """Return what is decided about each domain."""
    return answers.ConfigsAnswer.made(asked.project.name, asked.project.site_configs())


@router.get("/domains/{domain}/config", response_description="The configuration, and its version.")
def get_config(asked: Here, domain: DomainInPath) -> answers.ConfigAnswer:
    """Return what is decided about a domain."""
    return answers.ConfigAnswer.made(domain, asked.project.site_config(domain))


@router.put("/domains/{domain}/config", response_description="What was stored.")
def put_config(asked: Here, domain: DomainInPath, body: Given) -> answers.ConfigChangesAnswer:
    """Decide about a domain, in place of what was decided; its pages are then to be cleaned again."""
    return _put(asked, domain, SiteConfig.from_json(body.model_dump(exclude_defaults=True) or {}))


@router.delete("/domains/{domain}/config", response_description="Version 0: nothing is decided.")
def delete_config(asked: Here, domain: DomainInPath) -> answers.ConfigChangesAnswer:
    """Forget what was decided about a domain."""
    return _put(asked, domain, SiteConfig())


def _put(asked: OpenProject, domain: str, config: SiteConfig) -> answers.ConfigChangesAnswer:
    changed = configs.put_config(asked.project, domain, config, asked.settings, now())
    return answers.ConfigChangesAnswer.of(changes=[changed], dry_run=False)
