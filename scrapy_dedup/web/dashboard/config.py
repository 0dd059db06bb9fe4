"""What people decide about one domain: a form, a look at what it would do, and its version.

Whatever reads or writes the store raises StoreError where that fails.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter
from msgspec import Struct, field
from msgspec.structs import replace
from starlette.responses import Response

from scrapy_dedup.core.boilerplate.repeats import Removal
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.patterns import KEYS, ConfigTrial, HeldBack, SiteConfig, entries_of
from scrapy_dedup.report.numbers import count
from scrapy_dedup.service import patterns
from scrapy_dedup.service.cut.cleaning import Cleaned
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.cut.site_patterns import check_config, patterns_of
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.service.views.page_lists import PageChoice, list_pages
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.site_configs import StoredSiteConfig
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import DomainInPath, Flash, Form, FormFields, Here, Opened

# Browsers change other controls, and the ends of lines.
_IN_A_FORM: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]*")
_LONGEST_FIELD: Final = 80_000
LONGEST_FORM: Final = 500_000
"""Characters of all fields of a form together."""

PAGES: Final = 40


class PreviewBlock(Struct, frozen=True):
    """A block of the page, or a part that an expression takes out of one.

    Attributes:
        was, would: why it is left out today, and why it would be; None where it stays.
    """

    text: str
    was: Removal | None
    would: Removal | None

    @property
    def goes(self) -> bool:
        """Whether it would be left out, and is not."""
        return self.was is None and self.would is not None

    @property
    def comes_back(self) -> bool:
        """Whether it would stay, and is left out."""
        return self.was is not None and self.would is None

    @property
    def why(self) -> tuple[str, str, str] | None:
        """Layer, name and path of the rule by which it would be left out, or is; None where it stays."""
        removal = self.would or self.was
        return (removal.rule.layer, removal.rule.name, removal.rule.path) if removal else None


class Preview(Struct, frozen=True):
    """One page, cut as today and as it would be.

    Attributes:
        blocks: in the order of the page, then the parts.
        effects: what each pattern would do here.
        held: patterns that would not be carried out here, and why.
        after: the text that would go out.
    """

    url: str
    blocks: tuple[PreviewBlock, ...]
    effects: tuple[patterns.PatternEffect, ...]
    held: tuple[HeldBack, ...]
    after: str

    @property
    def goes(self) -> int:
        """How many blocks and parts would be left out that are not."""
        return sum(block.goes for block in self.blocks)

    @property
    def comes_back(self) -> int:
        """How many blocks and parts would stay that are left out."""
        return sum(block.comes_back for block in self.blocks)


def read_form(fields: Mapping[str, str], domain: str, settings: Settings) -> tuple[SiteConfig, dict[str, str]]:
    """Return the configuration that a form holds, one entry a line, and by key what is wrong with a field.

    A key whose field is wrong has no entries in what is returned; a key without a field has none either.
    """
    config, errors = SiteConfig(), {}
    left = LONGEST_FORM
    for key in KEYS:
        text = fields.get(key, "")
        left -= len(text)
        if left < 0:
            errors[key] = f"all fields together have more than {LONGEST_FORM} characters"
            continue
        entries = _lines(text)
        try:
            config = _with_key(config, key, [entry for _, entry in entries], domain, settings)
        except DedupError as error:
            errors[key] = _located(key, entries, domain, settings) or str(error)
    return config, errors


def _lines(text: str) -> list[tuple[int, str]]:
    """Return (number, line) of lines that say something, as they are: space may be meant, in an expression."""
    lines = enumerate((line.rstrip("\r") for line in text.split("\n")), 1)
    return [(number, line) for number, line in lines if line.strip()]


def locked_keys(config: SiteConfig) -> frozenset[str]:
    """Return the keys whose entries a form cannot hold: of several lines, with what nobody sees, or too many."""
    return frozenset(key for key in KEYS if not _fits(getattr(config, key)))


def _fits(entries: Sequence[str]) -> bool:
    return sum(map(len, entries)) <= _LONGEST_FIELD and all(map(_IN_A_FORM.fullmatch, entries))


def _with_key(config: SiteConfig, key: str, entries: list[str], domain: str, settings: Settings) -> SiteConfig:
    alone = SiteConfig().changed(key, entries)
    check_config(alone, domain, allow_slow=settings.allow_slow_patterns)
    return config.changed(key, entries)


def _located(key: str, entries: list[tuple[int, str]], domain: str, settings: Settings) -> str:
    """Return what is wrong with the first line that is wrong by itself; empty where each is right."""
    for number, entry in entries:
        try:
            entries_of(key, [entry])
            _with_key(SiteConfig(), key, [entry], domain, settings)
        except DedupError as error:
            return f"line {number}: {error}"
    return ""


def preview(
    project: ProjectStore, domain: str, config: SiteConfig, page_key: bytes, settings: Settings
) -> Preview | None:
    """Return what a configuration would do to a stored page; None where its original is not kept, or not to be parsed.

    Raises:
        PatternError: an entry cannot be used.
    """
    found = project.page(page_key)
    reading = read_again(found.source, settings) if found and found.source else None
    if reading is None:
        return None
    after_patterns = patterns_of(settings, config, domain)
    before_patterns = patterns_of(settings, patterns.stored_config(project, domain), domain)
    cutter = patterns.Cutter(project, domain, settings)
    before, after = cutter.cut(reading, before_patterns), cutter.cut(reading, after_patterns)
    return Preview(
        url=reading.url,
        blocks=tuple(_blocks(reading, before, after)),
        effects=tuple(patterns.effects_of(after, after_patterns)),
        held=after.held,
        after=after.content,
    )


def _blocks(reading: Reading, before: Cleaned, after: Cleaned) -> Iterator[PreviewBlock]:
    was, would = _removals(before), _removals(after)
    texts = {(block.fingerprint, block.path) for block in reading.blocks()}
    for fingerprint, path, text in reading.blocks():
        place = (fingerprint, path)
        yield PreviewBlock(text, was.get(place), would.get(place))
    parts = {
        (one.removal.fingerprint, one.path): one.text
        for one in (*before.removed, *after.removed)
        if (one.removal.fingerprint, one.path) not in texts
    }
    for place, text in parts.items():
        yield PreviewBlock(text, was.get(place), would.get(place))


def _removals(cleaned: Cleaned) -> dict[tuple[int, str], Removal]:
    return {(one.removal.fingerprint, one.path): one.removal for one in cleaned.removed}


class Typed(Struct, frozen=True):
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


class ConfigView(Struct, frozen=True):
    """The form.

    Attributes:
        typed: what stands in it, with what is wrong with that.
        locked: keys whose entries a form cannot hold.
        pages: (URL, title) of stored pages to look at.
        preview: what it would do to that page, or why that cannot be told; None where nobody asked.
        conflict: that somebody else changed it meanwhile; "" where nobody did.
    """

    domain: str
    typed: Typed
    updated_at: str = ""
    locked: frozenset[str] = frozenset()
    pages: tuple[tuple[str, str], ...] = ()
    preview: Preview | str | None = None
    trial: ConfigTrial | None = None
    conflict: str = ""

    @property
    def has_rare(self) -> bool:
        """Whether a field that few need says something."""
        rare = ("pdf_boilerplate_patterns", "keep_blocks", "keep_pages")
        return any(self.typed.fields.get(key) or key in self.typed.errors or key in self.locked for key in rare)


def config_view(project: ProjectStore, domain: str, typed: Typed) -> ConfigView:
    """Return the form with stored pages to choose from; of the first of them is looked at where none was chosen."""
    stored = project.site_config(domain)
    listed = list_pages(project, PageChoice(domain=domain, limit=PAGES)).pages
    pages = tuple((page.url, page.title or page.url) for page in listed if page.status == "completed")
    return ConfigView(
        domain=domain,
        typed=replace(typed, page=typed.page or (pages[0][0] if pages else "")),
        updated_at=f"{stored.updated_at:%Y-%m-%d %H:%M} UTC" if stored else "",
        locked=locked_keys(stored_form(stored).config),
        pages=pages,
    )


def preview_view(project: ProjectStore, domain: str, typed: Typed, settings: Settings) -> Preview | str:
    """Return what a form would do to the stored page that it names; or, in words, why that cannot be told."""
    if not typed.page:
        return "Name a stored page of this domain to look at."
    try:
        keys = keys_of(typed.page, settings, project)
        if keys.domain != domain:
            return f"That is a page of {keys.domain}, not of {domain}."
        found = preview(project, domain, typed.config, keys.page_key, settings)
    except DedupError as error:
        return str(error)
    return found or "The original of that page is not kept, or cannot be parsed."


router = APIRouter(prefix="/p/{project_id}/domains")
# Patterns may be slow: a person waits no longer, and sees of how many pages it is told.
_TRIED: Final = patterns.TrialBound(pages=500, seconds=20.0)
"""Somebody waits for it."""


@router.get("/{domain}/config")
def configuration(here: Here, domain: DomainInPath) -> Response:
    """Return the form with what is stored; `page` is the stored page that it looks at."""
    typed = stored_form(here.project.site_config(domain), here.asked("page"))
    view = _with_preview(here, domain, typed)
    return here.show("config.html", view=view)


@router.post("/{domain}/config")
def change_configuration(here: Here, domain: DomainInPath, fields: Form) -> Response:
    """Store the form, or try it: `action` is save, try or preview."""
    typed = _typed(here, domain, fields)
    action = fields.one("action")
    if typed.errors:
        return here.show("config.html", status=422, view=_with_preview(here, domain, typed))
    if action == "save":
        return _save(here, domain, typed)
    view = _with_preview(here, domain, typed)
    if action == "try":
        view = replace(view, trial=patterns.try_config(here.project, domain, typed.config, here.settings, _TRIED))
    return here.show("config.html", view=view)


@router.post("/{domain}/config/preview")
def look(here: Here, domain: DomainInPath, fields: Form) -> Response:
    """Return what the form would do to a stored page, as a piece of a page."""
    typed = _typed(here, domain, fields)
    if typed.errors:
        key, error = next(iter(typed.errors.items()))
        return here.fragment("preview.html", preview=f"{key}: {error}")
    return here.fragment("preview.html", preview=preview_view(here.project, domain, typed, here.settings))


def _save(here: Opened, domain: str, typed: Typed) -> Response:
    at = datetime.now(UTC)
    try:
        done = patterns.put_config(here.project, domain, typed.config, here.settings, at, expected=typed.version)
    except patterns.ConfigChangedError as error:
        view = replace(_with_preview(here, domain, typed), conflict=f"Nothing was saved: {error}.")
        return here.show("config.html", status=409, view=view)
    state = f"Version {done.version} is saved" if done.version else "Nothing is decided any more"
    told = Flash(f"{state}; {count(done.stale or 0, 'page')} to be cleaned again: refine, or crawl.")
    return here.back_to(here.path("domains", domain, "config"), told)


def _typed(here: Opened, domain: str, fields: FormFields) -> Typed:
    sent = {name: values[0] for name, values in fields.items()}
    return typed_form(sent, here.project.site_config(domain), domain, here.settings)


def _with_preview(here: Opened, domain: str, typed: Typed) -> ConfigView:
    view = config_view(here.project, domain, typed)
    if typed.errors or not view.typed.page:
        return view
    return replace(view, preview=preview_view(here.project, domain, view.typed, here.settings))
