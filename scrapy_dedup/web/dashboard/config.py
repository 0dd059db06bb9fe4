"""What people decide about one domain: a form, a look at what it would do, and its version."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.report.nav import Flash
from scrapy_dedup.report.numbers import count
from scrapy_dedup.service.patterns.config import ConfigChangedError, put_next_config, read_stored, try_config
from scrapy_dedup.service.views.config_views import (
    ConfigView,
    Typed,
    config_view,
    preview_view,
    stored_form,
    typed_form,
)
from scrapy_dedup.web.dashboard.frame import Form, FormFields
from scrapy_dedup.web.dashboard.opened import DomainInPath, Here, Opened

router = APIRouter(prefix="/p/{project_id}/domains")
_PAGES_TRIED: Final = 500
# Patterns may be slow: a person waits no longer, and sees of how many pages it is told.
_TRIAL_SECONDS: Final = 20.0
"""Somebody waits for it."""


@router.get("/{domain}/config")
def configuration(here: Here, domain: DomainInPath) -> Response:
    """Return the form with what is stored; `page` is the stored page that it looks at."""
    typed = stored_form(read_stored(*here.known, domain), here.asked("page"))
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
        found = try_config(here.known, domain, typed.config, here.settings, most=_PAGES_TRIED, seconds=_TRIAL_SECONDS)
        view = replace(view, trial=found)
    return here.show("config.html", view=view)


@router.post("/{domain}/config/preview")
def look(here: Here, domain: DomainInPath, fields: Form) -> Response:
    """Return what the form would do to a stored page, as a piece of a page."""
    typed = _typed(here, domain, fields)
    if typed.errors:
        key, error = next(iter(typed.errors.items()))
        return here.fragment("preview.html", preview=f"{key}: {error}")
    return here.fragment("preview.html", preview=preview_view(here.known, domain, typed, here.settings))


def _save(here: Opened, domain: str, typed: Typed) -> Response:
    at = datetime.now(UTC)
    try:
        done = put_next_config(here.known, domain, typed.config, here.settings, at, typed.version)
    except ConfigChangedError as error:
        view = replace(_with_preview(here, domain, typed), conflict=f"Nothing was saved: {error}.")
        return here.show("config.html", status=409, view=view)
    state = f"Version {done.version} is saved" if done.version else "Nothing is decided any more"
    told = Flash(f"{state}; {count(done.stale, 'page')} to be cleaned again: refine, or crawl.")
    return here.back_to(here.path("domains", domain, "config"), told)


def _typed(here: Opened, domain: str, fields: FormFields) -> Typed:
    sent = {name: values[0] for name, values in fields.items()}
    return typed_form(sent, read_stored(*here.known, domain), domain, here.settings)


def _with_preview(here: Opened, domain: str, typed: Typed) -> ConfigView:
    view = config_view(here.known, domain, typed)
    if typed.errors or not view.typed.page:
        return view
    return replace(view, preview=preview_view(here.known, domain, view.typed, here.settings))
