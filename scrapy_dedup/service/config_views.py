"""The configuration of a domain as the dashboard's form shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.patterns_config import KEYS, SiteConfig
from scrapy_dedup.core.repeats import Removal
from scrapy_dedup.report.dashboard_config import (
    ConfigView,
    PreviewEffect,
    PreviewLine,
    PreviewView,
)
from scrapy_dedup.service.explain import keys_of
from scrapy_dedup.service.page_lists import PageChoice, list_pages
from scrapy_dedup.service.previews import Preview, PreviewBlock, locked_keys, preview, read_form
from scrapy_dedup.service.site_config import read_stored
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.site_configs import StoredSiteConfig
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

PAGES: Final = 40


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form holds.

    Attributes:
        config: what it says; entries that the form could not hold are as they are stored.
        errors: what is wrong with a field, by key.
        page: address of the stored page to look at.
    """

    config: SiteConfig
    version: int
    fields: Mapping[str, str]
    errors: Mapping[str, str] = field(default_factory=dict)
    page: str = ""


def stored_form(stored: StoredSiteConfig | None, page: str = "") -> Typed:
    """Return the form of what is stored."""
    config = SiteConfig.from_json(dict(stored.config)) if stored else SiteConfig()
    locked = locked_keys(config)
    fields = {key: "\n".join(getattr(config, key)) for key in KEYS if key not in locked}
    return Typed(config, stored.version if stored else 0, fields, page=page)


def typed_form(sent: Mapping[str, str], stored: StoredSiteConfig | None, domain: str, settings: Settings) -> Typed:
    """Return what was sent, with what is wrong with it."""
    present = stored_form(stored).config
    config, errors = read_form(sent, domain, settings)
    for key in locked_keys(present):
        config = config.changed(key, getattr(present, key))
        errors.pop(key, None)
    said = sent.get("version", "")
    version = int(said) if said.isascii() and said.isdigit() and len(said) < 10 else -1
    fields = {key: sent.get(key, "").replace("\r\n", "\n") for key in KEYS}
    return Typed(config, version, fields, errors, sent.get("page", "").strip()[:4_000])


def config_view(known: tuple[Store, ProjectStore], domain: str, typed: Typed, base: str) -> ConfigView:
    """Return the form with stored pages to choose from; of the first of them is looked at where none was chosen.

    Raises:
        StoreError: the store failed.
    """
    store, project = known
    stored = read_stored(store, project, domain)
    listed = list_pages(store, project, PageChoice(domain=domain, limit=PAGES)).pages
    pages = tuple((page.url, page.title or page.url) for page in listed if page.status == "completed")
    return ConfigView(
        base=base,
        domain=domain,
        version=typed.version,
        fields=typed.fields,
        updated_at=f"{stored.updated_at:%Y-%m-%d %H:%M} UTC" if stored else "",
        errors=typed.errors,
        locked=locked_keys(stored_form(stored).config),
        pages=pages,
        page=typed.page or (pages[0][0] if pages else ""),
    )


def preview_view(known: tuple[Store, ProjectStore], domain: str, typed: Typed, settings: Settings) -> PreviewView:
    """Return what a form would do to the stored page that it names.

    Raises:
        StoreError: the store failed.
    """
    if not typed.page:
        return PreviewView(problem="Name a stored page of this domain to look at.")
    try:
        keys = keys_of(typed.page, settings, known[1])
        if keys.domain != domain:
            return PreviewView(problem=f"That is a page of {keys.domain}, not of {domain}.")
        found = preview(known, domain, typed.config, keys.page_key, settings)
    except DedupError as error:
        return PreviewView(problem=str(error))
    if found is None:
        return PreviewView(problem="The original of that page is not kept, or cannot be parsed.")
    return _drawn(found)


def _drawn(found: Preview) -> PreviewView:
    return PreviewView(
        url=found.url,
        lines=tuple(map(_line, found.blocks)),
        goes=found.goes,
        comes_back=found.comes_back,
        effects=tuple(PreviewEffect(one.pattern, one.blocks, one.chars) for one in found.effects),
        held=tuple((one.pattern, str(one.reason)) for one in found.held),
        after=found.after,
    )


def _line(block: PreviewBlock) -> PreviewLine:
    why: Removal | None = block.would or block.was
    if why is None:
        return PreviewLine(block.text, "kept")
    state = "goes" if block.goes else "back" if block.comes_back else "removed"
    return PreviewLine(block.text, state, why.rule.layer, why.rule.name, why.rule.path)
