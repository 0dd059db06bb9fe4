"""What is decided about domains: their configurations, with a tag so that nobody overwrites what he has not seen."""

import hashlib
import json
from typing import Annotated, Final

from fastapi import APIRouter, Header
from fastapi.responses import Response

from scrapy_dedup.core.patterns_config import SiteConfig
from scrapy_dedup.service import site_config as configs
from scrapy_dedup.service.answers.config import TriedConfig, config_answer, config_changes_answer, tried_answer
from scrapy_dedup.service.explain import keys_of
from scrapy_dedup.service.reading import read_again
from scrapy_dedup.store import site_configs
from scrapy_dedup.store.site_configs import StoredSiteConfig
from scrapy_dedup.web import models_configs as models
from scrapy_dedup.web.api.asked import Asked, DomainInPath, Here, UrlInQuery, now, reads, writes
from scrapy_dedup.web.etags import answered, as_bytes, done, is_one_of, tagged
from scrapy_dedup.web.problems import ProblemError

# Patterns may be slow: after this the answer tells of the pages that were tried by then.
_TRIAL_SECONDS: Final = 20.0
router = APIRouter(tags=["config"])
Given = models.ConfigBody | models.PipelineIn | models.PipelineBody
IfMatch = Annotated[
    str | None,
    Header(description="The configuration's ETag: 412 where it is another by now.", max_length=500, examples=["*"]),
]


@router.get(
    "/projects/{project}/config",
    operation_id="list_configs",
    responses=reads(models.ConfigsAnswer, "By domain, those about which anything is decided."),
)
def list_all(asked: Here) -> Response:
    """Return what is decided about each domain."""
    with asked.store.session(read_only=True) as session:
        found = site_configs.of_project(session.connection(), asked.project.id)
    domains = [config_answer(one.domain, one) for one in found]
    return answered(asked.request, {"project": asked.project.name, "domains": domains})


@router.get(
    "/projects/{project}/domains/{domain}/config",
    operation_id="get_config",
    responses=reads(models.ConfigAnswer, "The configuration; its ETag begins with its version."),
)
def get(asked: Here, domain: DomainInPath) -> Response:
    """Return what is decided about a domain."""
    found = configs.read_stored(*asked.known, domain)
    return tagged(asked.request, as_bytes(config_answer(domain, found)), tag=_tag(found))


@router.put(
    "/projects/{project}/domains/{domain}/config",
    operation_id="put_config",
    responses=writes(models.ConfigChangesAnswer, "What was stored."),
)
def put(asked: Here, domain: DomainInPath, body: Given, if_match: IfMatch = None) -> Response:
    """Decide about a domain, in place of what was decided; its pages are then to be cleaned again."""
    return _put(asked, domain, _config(body), if_match)


@router.delete(
    "/projects/{project}/domains/{domain}/config",
    operation_id="delete_config",
    responses=writes(models.ConfigChangesAnswer, "Version 0: nothing is decided."),
)
def delete(asked: Here, domain: DomainInPath, if_match: IfMatch = None) -> Response:
    """Forget what was decided about a domain."""
    return _put(asked, domain, SiteConfig(), if_match)


@router.post(
    "/projects/{project}/domains/{domain}/config/trial",
    operation_id="try_config",
    responses=reads(models.ConfigTrialsAnswer, "How many stored pages would change."),
)
def try_out(asked: Here, domain: DomainInPath, body: Given) -> Response:
    """Return what a configuration would change on the stored pages; nothing is written."""
    config = _config(body)
    trial = configs.try_config(asked.known, domain, config, asked.settings, seconds=_TRIAL_SECONDS)
    return done(config_changes_answer([TriedConfig(domain, config, trial)], dry_run=True))


@router.get(
    "/projects/{project}/pages/patterns",
    operation_id="test_patterns",
    responses=reads(models.PatternTestAnswer, "What each pattern does on the page."),
)
def test(asked: Here, url: UrlInQuery) -> Response:
    """Return what the patterns of its domain leave out of a stored page."""
    keys = keys_of(url, asked.settings)
    page = asked.project.page(keys.page_key)
    source = page.source if page else None
    reading = read_again(source, asked.settings) if source else None
    if reading is None:
        raise ProblemError(404, f"{url[:500]} is not stored, or its original is not kept")
    tried = configs.try_on_page(asked.known, keys.domain, reading, asked.settings)
    return answered(asked.request, tried_answer(keys.domain, tried))


def _config(body: Given) -> SiteConfig:
    return SiteConfig.from_json(body.model_dump(exclude_defaults=True) or {})


def _put(asked: Asked, domain: str, config: SiteConfig, if_match: str | None) -> Response:
    at = now()
    if if_match is None:
        changed = configs.put_config(*asked.known, domain, config, asked.settings, at)
    else:
        found = configs.read_stored(*asked.known, domain)
        # For a configuration that is not there `*` fits, too, by the letter of HTTP, nothing.
        if not is_one_of(if_match, _tag(found)) or (found is None and if_match.strip() == "*"):
            version = found.version if found else 0
            raise ProblemError(412, f"the configuration of {domain} is another one by now, of version {version}")
        version = found.version if found else 0
        changed = configs.put_next_config(asked.known, domain, config, asked.settings, at, version)
    stored = configs.read_stored(*asked.known, domain)
    return done(config_changes_answer([changed], dry_run=False), ETag=_tag(stored))


def _tag(found: StoredSiteConfig | None) -> str:
    """Return the tag of a configuration: versions alone begin anew where one was forgotten."""
    if found is None:
        return '"0"'
    plain = json.dumps({key: list(entries) for key, entries in found.config.items()}, sort_keys=True)
    return f'"{found.version}-{hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:12]}"'
