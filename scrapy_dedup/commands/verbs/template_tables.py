"""What `scrapy dedup templates` shows; the JSON is described in `templates`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from scrapy_dedup.commands.call import print_json
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.layout_figures import name_of
from scrapy_dedup.service.template_changes import TemplateChange
from scrapy_dedup.service.template_diff import TemplateDiff
from scrapy_dedup.service.template_files import Imported
from scrapy_dedup.service.template_trial import TemplateTrial
from scrapy_dedup.service.template_upkeep import Line, ShownTemplate
from scrapy_dedup.store.stored_layouts import TemplateFigures

_LINES_SHOWN: Final = 40
_EFFECTS_SHOWN: Final = 5
_TEXTS_SHOWN: Final = 3


def show_list(project: str, found: Sequence[tuple[TemplateFigures, int]], *, as_json: bool) -> None:
    """Print the present version of each template."""
    if as_json:
        from scrapy_dedup.answers.templates import TemplatesAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(TemplatesAnswer.made(project, found))
        return
    table = a_table("Domain", "Layout", "Kind", "State", "URLs", "Version", "Confidence", "Pages", "Overrides", texts=5)
    for figures, versions in found:
        table.add_row(
            shown(figures.domain, 100),
            name_of(figures.layout),
            shown(figures.kind, 30),
            shown(figures.state, 20),
            shown(figures.url_pattern or "", 80),
            f"{figures.version} of {versions}",
            f"{figures.confidence:.2f}",
            whole(figures.pages),
            whole(len(figures.overrides)) if figures.overrides else "",
        )
    print_table(f"Templates of project {project}", table)
    output().print(Text("\nscrapy dedup templates show DOMAIN LAYOUT tells how pages are cut.", style="dim"))


def show_templates(project: str, found: Sequence[ShownTemplate], *, as_json: bool) -> None:
    """Print templates as a person reads them."""
    if as_json:
        from scrapy_dedup.answers.templates import ShownTemplatesAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(ShownTemplatesAnswer.made(project, found))
        return
    for each in found:
        _show_template(each)


def _show_template(each: ShownTemplate) -> None:
    stored = each.stored
    _title(f"{stored.domain}, layout {name_of(stored.layout)}: {stored.kind}, version {stored.version}, {stored.state}")
    facts = f"confidence {stored.confidence:.2f}, learned from {count(stored.pages, 'page')}"
    _say(f"{facts}, {stored.source}, since {stored.state_at:%Y-%m-%d %H:%M}: {stored.reason or 'no reason noted'}")
    if stored.url_pattern:
        _say(f"URLs: {stored.url_pattern}")
    _show_lines("Content", each.content)
    _show_lines("Left out", each.exclude)
    for name, selectors in each.fields.items():
        _show_lines(name.capitalize(), [Line(one) for one in selectors])
    decided = [Line(f"{one.get('action')} {one.get('selector')}", _decided(one)) for one in stored.overrides]
    _show_lines("Decided by a person; of two that meet the later one counts", decided)
    _say("Versions: " + ", ".join(f"{version} {state}" for version, state in each.versions), style="dim")
    output().print()


def _decided(override: Any) -> str:
    return " by ".join(str(override[name]) for name in ("at", "by") if override.get(name))


def _show_lines(title: str, lines: Sequence[Line]) -> None:
    if not lines:
        return
    output().print(Text(f"\n{title}", style="bold"))
    for line in lines[:_LINES_SHOWN]:
        output().print(Text.assemble("  ", shown(line.selector, 300)), soft_wrap=True)
        if line.evidence:
            output().print(Text.assemble("      ", shown(line.evidence, 300, style="dim")), soft_wrap=True)
    if len(lines) > _LINES_SHOWN:
        _say(f"  and {whole(len(lines) - _LINES_SHOWN)} more; --json lists them all", style="dim")


def show_diff(diff: TemplateDiff, *, as_json: bool) -> None:
    """Print how one version differs from another."""
    if as_json:
        from scrapy_dedup.answers.templates import TemplateDiffAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(TemplateDiffAnswer.made(diff))
        return
    before, after = diff.before, diff.after
    _title(f"{before.domain}, layout {name_of(before.layout)}: version {after.version} against {before.version}")
    if diff.is_empty:
        _say("Both cut alike.")
    for sign, found, style in (("-", diff.removed, "red"), ("+", diff.added, "green")):
        for name, selectors in found.items():
            for selector in selectors:
                _say(f"{sign} {name}: {selector}", style=style)
    for sign, decisions, style in (("-", diff.undecided, "red"), ("+", diff.decided, "green")):
        for action, selector in decisions:
            _say(f"{sign} decided: {action} {selector}", style=style)
    if diff.verdicts:
        table = a_table("Path", "Before", "After", "Evidence", texts=4)
        for change in diff.verdicts[:_LINES_SHOWN]:
            words = (change.before or "unknown", change.after or "unknown")
            table.add_row(shown(change.path, 200), *map(shown, words), shown(change.evidence))
        output().print(table)
    if len(diff.verdicts) > _LINES_SHOWN:
        _say(f"and {whole(len(diff.verdicts) - _LINES_SHOWN)} more paths; --json lists them all", style="dim")


def show_override(change: TemplateChange, *, as_json: bool) -> None:
    """Print what became of a decision."""
    if as_json:
        from scrapy_dedup.answers.templates import TemplateChangeAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(TemplateChangeAnswer.of(change))
        return
    if not change.changed:
        _say("That is decided already: nothing was changed.")
    elif change.trial is not None:
        _show_trial(change.trial)
    else:
        state = f"; it is {change.present.state}" if change.present.state != "live" else ""
        _say(f"Version {change.version} of layout {name_of(change.present.layout)} has the decision{state}.")
        _say("Pages that come from now on are cut by it.", style="dim")


def show_rollback(change: TemplateChange, *, as_json: bool) -> None:
    """Print what became of going back."""
    if as_json:
        from scrapy_dedup.answers.templates import TemplateChangeAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(TemplateChangeAnswer.of(change))
    elif change.trial is not None:
        _say(f"Version {change.version} would be live, in place of version {change.present.version}.")
        _show_trial(change.trial)
    else:
        _say(f"Version {change.version} of layout {name_of(change.present.layout)} is live again, as it was.")


def _show_trial(trial: TemplateTrial) -> None:
    if not trial.pages:
        _say("No stored page is of this layout, so what would change cannot be shown.")
    else:
        _say(f"Of {count(trial.pages, 'stored page')} of this layout, {whole(len(trial.effects))} would change.")
    for effect in trial.effects[:_EFFECTS_SHOWN]:
        _say(effect.url, style="bold")
        for sign, texts, style in (("-", effect.gone, "red"), ("+", effect.back, "green")):
            for text in texts[:_TEXTS_SHOWN]:
                _say(f"  {sign} {text}", style=style)
            if len(texts) > _TEXTS_SHOWN:
                _say(f"  {sign} and {whole(len(texts) - _TEXTS_SHOWN)} more", style="dim")
    output().print(Text("Dry run: nothing was written.", style="bold"))


def show_export(file: Path, templates: int, *, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        print_json({"file": str(file), "templates": templates})
    else:
        _say(f"{count(templates, 'template')} written to {file}.")


def show_import(file: Path, done: Imported, *, as_json: bool) -> None:
    """Print what was stored."""
    if as_json:
        figures = {"added": done.added, "unchanged": done.unchanged, "domains": list(done.domains)}
        print_json({"file": str(file), "dry_run": not done.done, **figures})
        return
    verb = "stored" if done.done else "would be stored"
    domains = f"of {count(len(done.domains), 'domain')} {verb}"
    _say(f"{count(done.added, 'template')} {domains}, {whole(done.unchanged)} there already.")
    if not done.done:
        output().print(Text("Dry run: nothing was written.", style="bold"))


def _title(text: str) -> None:
    output().print(shown(text, 300, style="bold"), soft_wrap=True)


def _say(text: str, style: str = "") -> None:
    output().print(shown(text, 500, style=style), soft_wrap=True)
