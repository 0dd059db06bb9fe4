"""How the pages of each layout are cut, and what a person decides about it."""

from collections.abc import Iterable, Sequence
from typing import Any

from scrapy_dedup.service.template_changes import TemplateChange
from scrapy_dedup.service.template_diff import TemplateDiff
from scrapy_dedup.service.template_files import Imported
from scrapy_dedup.service.template_upkeep import Line, ShownTemplate
from scrapy_dedup.store.layout_records import to_digits
from scrapy_dedup.store.stored_layouts import StoredTemplate, TemplateFigures


def templates_answer(project: str, found: Sequence[tuple[TemplateFigures, int]]) -> dict[str, Any]:
    """Return the present version of each template."""
    rows = [template_figures_answer(figures) | {"versions": versions} for figures, versions in found]
    return {"project": project, "templates": rows}


def template_figures_answer(figures: TemplateFigures | StoredTemplate) -> dict[str, Any]:
    """Return the figures of one version of a template."""
    return {
        "domain": figures.domain,
        "layout": to_digits(figures.layout),
        "kind": figures.kind,
        "version": figures.version,
        "state": figures.state,
        "reason": figures.reason,
        "confidence": figures.confidence,
        "pages": figures.pages,
        "url_pattern": figures.url_pattern,
        "source": figures.source,
        "overrides": len(figures.overrides),
        "created_at": figures.created_at.isoformat(),
        "state_at": figures.state_at.isoformat(),
    }


def template_answer(each: ShownTemplate) -> dict[str, Any]:
    """Return a template as a person reads it."""
    return {
        **template_figures_answer(each.stored),
        "structure": to_digits(each.stored.structure),
        "versions": [{"version": version, "state": state} for version, state in each.versions],
        "content": _lines(each.content),
        "exclude": _lines(each.exclude),
        "fields": {name: list(found) for name, found in each.fields.items()},
        "overrides": [dict(one) for one in each.stored.overrides],
    }


def _lines(lines: Iterable[Line]) -> list[dict[str, str]]:
    return [{"selector": line.selector, "evidence": line.evidence} for line in lines]


def template_diff_answer(diff: TemplateDiff) -> dict[str, Any]:
    """Return how one version differs from another."""
    return {
        "domain": diff.before.domain,
        "layout": to_digits(diff.before.layout),
        "before": diff.before.version,
        "after": diff.after.version,
        "added": {name: list(found) for name, found in diff.added.items()},
        "removed": {name: list(found) for name, found in diff.removed.items()},
        "verdicts": [
            {"path": one.path, "before": one.before, "after": one.after, "evidence": one.evidence}
            for one in diff.verdicts
        ],
        "decided": [{"action": action, "selector": selector} for action, selector in diff.decided],
        "undecided": [{"action": action, "selector": selector} for action, selector in diff.undecided],
    }


def template_change_answer(change: TemplateChange) -> dict[str, Any]:
    """Return what was done to a template, or would be."""
    found: dict[str, Any] = {
        "domain": change.present.domain,
        "layout": to_digits(change.present.layout),
        "version": change.version,
        "changed": change.changed,
        "dry_run": change.dry_run,
    }
    if change.trial is not None:
        effects = [{"url": one.url, "gone": list(one.gone), "back": list(one.back)} for one in change.trial.effects]
        found |= {"pages": change.trial.pages, "effects": effects}
    return found


def imported_templates_answer(done: Imported) -> dict[str, Any]:
    """Return how many templates of a file were stored, or would be."""
    figures = {"added": done.added, "unchanged": done.unchanged, "domains": list(done.domains)}
    return {"dry_run": not done.done, **figures}
