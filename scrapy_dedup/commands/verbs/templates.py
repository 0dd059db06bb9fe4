"""`scrapy dedup templates ACTION`: how the pages of each layout are cut, and what a person decides about it.

LAYOUT is `rest` (the pages of no known layout) or the first digits of a signature, as `templates layouts` and
`templates list` show them. A template is on probation (it would leave next to nothing), live (pages are cut by it) or
retired.

JSON: as in `scrapy_dedup.answers.templates`. import: `file`, `dry_run`, `added`, `unchanged`, `domains`. export writes
JSON by itself; with --json and a FILE: `file`, `templates` (how many).
"""

import argparse
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from rich.text import Text

from scrapy_dedup.commands.call import (
    DONE,
    NOT_DONE,
    Action,
    Call,
    CommandError,
    WrongCallError,
    add_actions,
    print_answer,
    print_json,
    run_action,
    text_of,
    write_export,
)
from scrapy_dedup.commands.terminal import a_table, output, print_table, say, shown
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.stored import template_upkeep as upkeep
from scrapy_dedup.service.stored.template_upkeep import (
    SelectorLine,
    ShownTemplate,
    TemplateDesk,
    TemplateDiff,
    TemplateFileError,
    TemplateTrial,
    diff_templates,
    export_templates,
    import_templates,
    read_templates,
)
from scrapy_dedup.service.templates.layout_figures import name_of
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

_LINES_SHOWN: Final = 40
_EFFECTS_SHOWN: Final = 5
_TEXTS_SHOWN: Final = 3


def _show_template(each: ShownTemplate) -> None:
    stored = each.stored
    layout = f"{stored.domain}, layout {name_of(stored.layout)}"
    say(f"{layout}: {stored.kind}, version {stored.version}, {stored.state}", style="bold")
    facts = f"confidence {stored.confidence:.2f}, learned from {count(stored.pages, 'page')}"
    say(f"{facts}, {stored.source}, since {stored.state_at:%Y-%m-%d %H:%M}: {stored.reason or 'no reason noted'}")
    if stored.url_pattern:
        say(f"URLs: {stored.url_pattern}")
    _show_lines("Content", each.content)
    _show_lines("Left out", each.exclude)
    for name, selectors in each.fields.items():
        _show_lines(name.capitalize(), [SelectorLine(one) for one in selectors])
    decided = [SelectorLine(f"{one.get('action')} {one.get('selector')}", _decided(one)) for one in stored.overrides]
    _show_lines("Decided by a person; of two that meet the later one counts", decided)
    say("Versions: " + ", ".join(f"{version} {state}" for version, state in each.versions), style="dim")
    output().print()


def _decided(override: Any) -> str:
    return " by ".join(str(override[name]) for name in ("at", "by") if override.get(name))


def _show_lines(title: str, lines: Sequence[SelectorLine]) -> None:
    if not lines:
        return
    output().print(Text(f"\n{title}", style="bold"))
    for line in lines[:_LINES_SHOWN]:
        output().print(Text.assemble("  ", shown(line.selector, 300)), soft_wrap=True)
        if line.evidence:
            output().print(Text.assemble("      ", shown(line.evidence, 300, style="dim")), soft_wrap=True)
    if len(lines) > _LINES_SHOWN:
        say(f"  and {whole(len(lines) - _LINES_SHOWN)} more; --json lists them all", style="dim")


def _show_diff(diff: TemplateDiff) -> None:
    before, after = diff.before, diff.after
    layout = f"{before.domain}, layout {name_of(before.layout)}"
    say(f"{layout}: version {after.version} against {before.version}", style="bold")
    if diff.is_empty:
        say("Both cut alike.")
    for sign, found, style in (("-", diff.removed, "red"), ("+", diff.added, "green")):
        for name, selectors in found.items():
            for selector in selectors:
                say(f"{sign} {name}: {selector}", style=style)
    for sign, decisions, style in (("-", diff.undecided, "red"), ("+", diff.decided, "green")):
        for action, selector in decisions:
            say(f"{sign} decided: {action} {selector}", style=style)
    if diff.verdicts:
        table = a_table("Path", "Before", "After", "Evidence", texts=4)
        for change in diff.verdicts[:_LINES_SHOWN]:
            words = (change.before or "unknown", change.after or "unknown")
            table.add_row(shown(change.path, 200), *map(shown, words), shown(change.evidence))
        output().print(table)
    if len(diff.verdicts) > _LINES_SHOWN:
        say(f"and {whole(len(diff.verdicts) - _LINES_SHOWN)} more paths; --json lists them all", style="dim")


def _show_trial(trial: TemplateTrial) -> None:
    if not trial.pages:
        say("No stored page is of this layout, so what would change cannot be shown.")
    else:
        say(f"Of {count(trial.pages, 'stored page')} of this layout, {whole(len(trial.effects))} would change.")
    for effect in trial.effects[:_EFFECTS_SHOWN]:
        say(effect.url, style="bold")
        for sign, texts, style in (("-", effect.gone, "red"), ("+", effect.back, "green")):
            for text in texts[:_TEXTS_SHOWN]:
                say(f"  {sign} {text}", style=style)
            if len(texts) > _TEXTS_SHOWN:
                say(f"  {sign} and {whole(len(texts) - _TEXTS_SHOWN)} more", style="dim")
    output().print(Text("Dry run: nothing was written.", style="bold"))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options; which belong together is checked when it runs."""
    add_actions(parser, ACTIONS)
    add = parser.add_argument
    add("--version", metavar="N", type=int, help="show: this version")
    for word, what in _DECISIONS.items():
        add(f"--{word}", dest="decisions", action="append", metavar="CSS", type=_decide(word), help=f"override: {what}")
    add("--domain", metavar="DOMAIN", help="export: only this one")
    add("--dry-run", action="store_true", help="override, rollback, import: only say what would change")


def _decide(word: Literal["keep", "drop", "forget"]) -> Callable[[str], upkeep.Decision]:
    return lambda css: (word, css)


def run(call: Call) -> int:
    """Do what was asked for."""
    return run_action(call, "templates", ACTIONS, {"decisions": "--keep, --drop or --forget"})


def _list(call: Call) -> int:
    with call.opened() as (_, project):
        found = upkeep.list_templates(project, *map(str.lower, call.options.targets))
    if print_answer(call, "templates", lambda answers: answers.TemplatesAnswer.made(call.project, found)):
        return DONE
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
    print_table(f"Templates of project {call.project}", table)
    output().print(Text("\nscrapy dedup templates show DOMAIN LAYOUT tells how pages are cut.", style="dim"))
    return DONE


def _show(call: Call) -> int:
    domain, layout = call.options.targets[0].lower(), (call.options.targets[1:] or [None])[0]
    if call.options.version is not None and layout is None:
        raise WrongCallError("templates show --version needs the layout, too: show DOMAIN LAYOUT --version N")
    with call.opened() as (_, project):
        found = upkeep.show_templates(project, domain, layout, call.options.version)
    if not print_answer(call, "templates", lambda answers: answers.ShownTemplatesAnswer.made(call.project, found)):
        for each in found:
            _show_template(each)
    return DONE


def _diff(call: Call) -> int:
    domain, layout, *words = call.options.targets
    numbers = _number(words[0]), _number(words[1])
    with call.opened() as (_, project):
        found = diff_templates(project, domain.lower(), layout, numbers)
    if not print_answer(call, "templates", lambda answers: answers.TemplateDiffAnswer.made(found)):
        _show_diff(found)
    return DONE


def _override(call: Call) -> int:
    options = call.options
    domain, layout = options.targets[0].lower(), options.targets[1]
    if not options.decisions:
        raise WrongCallError("templates override needs --keep CSS, --drop CSS or --forget CSS")
    with call.opened() as (store, project):
        change = _desk(call, store, project).override(domain, layout, options.decisions)
    if print_answer(call, "templates", lambda answers: answers.TemplateChangeAnswer.of(change)):
        return DONE
    if not change.changed:
        say("That is decided already: nothing was changed.")
    elif change.trial is not None:
        _show_trial(change.trial)
    else:
        state = f"; it is {change.present.state}" if change.present.state != "live" else ""
        say(f"Version {change.version} of layout {name_of(change.present.layout)} has the decision{state}.")
        say("Pages that come from now on are cut by it.", style="dim")
    return DONE


def _desk(call: Call, store: Store, project: ProjectStore) -> TemplateDesk:
    return TemplateDesk(store, project, call.settings, datetime.now(UTC), dry_run=call.options.dry_run)


def _rollback(call: Call) -> int:
    options = call.options
    domain, layout, *words = options.targets
    number = _number(words[0]) if words else None
    with call.opened() as (store, project):
        change = _desk(call, store, project).roll_back(domain.lower(), layout, number)
    if print_answer(call, "templates", lambda answers: answers.TemplateChangeAnswer.of(change)):
        return DONE
    if change.trial is not None:
        say(f"Version {change.version} would be live, in place of version {change.present.version}.")
        _show_trial(change.trial)
    else:
        say(f"Version {change.version} of layout {name_of(change.present.layout)} is live again, as it was.")
    return DONE


def _export(call: Call) -> int:
    options = call.options
    with call.opened() as (_, project):
        found = export_templates(project, options.domain.lower() if options.domain else None)
    return write_export(call, found, "templates", "template")


def _import(call: Call) -> int:
    name, dry_run = call.options.targets[0], call.options.dry_run
    try:
        records = read_templates(text_of(name), datetime.now(UTC))
    except TemplateFileError as error:
        raise CommandError(f"{name}: {error}") from error
    with call.filled(dry_run=dry_run) as (store, project):
        done = import_templates(store, project, records, dry_run=dry_run)
    if call.options.json:
        figures = {"added": done.added, "unchanged": done.unchanged, "domains": list(done.domains)}
        print_json({"file": name, "dry_run": not done.done, **figures})
    else:
        verb = "stored" if done.done else "would be stored"
        domains = f"of {count(len(done.domains), 'domain')} {verb}"
        say(f"{count(done.added, 'template')} {domains}, {whole(done.unchanged)} there already.")
        if not done.done:
            output().print(Text("Dry run: nothing was written.", style="bold"))
    return DONE if records else NOT_DONE


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise WrongCallError(f"{word!r} is no number of a version; templates show lists those there are")
    return int(word)


_DECISIONS: Final[dict[Literal["keep", "drop", "forget"], str]] = {
    "keep": "keep what this selects",
    "drop": "leave out what this selects",
    "forget": "take back what was decided about it",
}
ACTIONS: Final = {
    "list": Action(_list, "[DOMAIN]", 0, 1),
    "show": Action(_show, "DOMAIN [LAYOUT]", 1, 2, frozenset({"version"})),
    "diff": Action(_diff, "DOMAIN LAYOUT VERSION VERSION", 4, 4),
    "override": Action(_override, "DOMAIN LAYOUT", 2, 2, frozenset({"decisions", "dry_run"})),
    "rollback": Action(_rollback, "DOMAIN LAYOUT [VERSION]", 2, 3, frozenset({"dry_run"})),
    "export": Action(_export, "[FILE]", 0, 1, frozenset({"domain"})),
    "import": Action(_import, "FILE", 1, 1, frozenset({"dry_run"})),
}
