"""`scrapy dedup templates ACTION`: how the pages of each layout are cut, and what a person decides about it.

LAYOUT is `rest` (the pages of no known layout) or the first digits of a signature, as `templates layouts` and
`templates list` show them. A template is on probation (it would leave next to nothing), live (pages are cut by it) or
retired.

JSON: as in `scrapy_dedup.answers.templates`; layout 0000000000000000 are the pages of no known layout. import: `file`,
`dry_run`, `added`, `unchanged`, `domains`. export writes JSON by itself; with --json and a FILE: `file`, `templates`
(how many).
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

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
from scrapy_dedup.commands.terminal import print_table, say, say_dry_run, say_more, shown
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.report.values import ReportLocator
from scrapy_dedup.service.stored import template_upkeep as upkeep
from scrapy_dedup.service.stored.template_upkeep import (
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
from scrapy_dedup.service.templates.layout_figures import DomainLayout, DomainLayouts, domain_layouts, name_of
from scrapy_dedup.store.writer import ProjectStore

_LINES_SHOWN: Final = 40
_RUNS_SHOWN: Final = 6
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
        _show_lines(name.capitalize(), [ReportLocator(one) for one in selectors])
    decided = [ReportLocator(f"{one.get('action')} {one.get('selector')}", _decided(one)) for one in stored.overrides]
    _show_lines("Decided by a person; of two that meet the later one counts", decided)
    say("Versions: " + ", ".join(f"{version} {state}" for version, state in each.versions), style="dim")
    say("")


def _decided(override: Any) -> str:
    return " by ".join(str(override[name]) for name in ("at", "by") if override.get(name))


def _show_lines(title: str, lines: Sequence[ReportLocator]) -> None:
    if not lines:
        return
    say("")
    say(title, "bold")
    for line in lines[:_LINES_SHOWN]:
        say(line.selector, indent=2)
        if line.evidence:
            say(line.evidence, "dim", indent=6)
    say_more(len(lines) - _LINES_SHOWN, indent=2)


def _show_diff(diff: TemplateDiff) -> None:
    before, after = diff.before, diff.after
    layout = f"{before.domain}, layout {name_of(before.layout)}"
    say(f"{layout}: version {after.version} against {before.version}", "bold")
    if diff.is_empty:
        say("Both cut alike.")
    for sign, found, style in (("-", diff.removed, "red"), ("+", diff.added, "green")):
        for name, selectors in found.items():
            for selector in selectors:
                say(f"{sign} {name}: {selector}", style)
    for sign, decisions, style in (("-", diff.undecided, "red"), ("+", diff.decided, "green")):
        for action, selector in decisions:
            say(f"{sign} decided: {action} {selector}", style)
    if diff.verdicts:
        found_at = diff.verdicts[:_LINES_SHOWN]
        rows = ((one.path, one.before or "unknown", one.after or "unknown", one.evidence) for one in found_at)
        print_table("", "Path, Before, After, Evidence", rows, texts=4)
    say_more(len(diff.verdicts) - _LINES_SHOWN, "path")


def _show_trial(trial: TemplateTrial) -> None:
    if not trial.pages:
        say("No stored page is of this layout, so what would change cannot be shown.")
    else:
        say(f"Of {count(trial.pages, 'stored page')} of this layout, {whole(len(trial.effects))} would change.")
    for effect in trial.effects[:_EFFECTS_SHOWN]:
        say(effect.url, "bold")
        for sign, texts, style in (("-", effect.gone, "red"), ("+", effect.back, "green")):
            for text in texts[:_TEXTS_SHOWN]:
                say(f"{sign} {text}", style, indent=2)
            if len(texts) > _TEXTS_SHOWN:
                say(f"{sign} and {whole(len(texts) - _TEXTS_SHOWN)} more", "dim", indent=2)
    say_dry_run()


def _show_layouts(domains: Iterable[DomainLayouts]) -> None:
    for domain in domains:
        rows: list[tuple[object, ...]] = []
        for each in domain.layouts:
            known = each.template
            words = (name_of(each.layout), known and known.kind, _version_of(each), _seen(each), each.example_url)
            rows.append((*words, each.visits, trend(each.pages_by_run)))
            if known and known.url_pattern:
                rows.append(("", "", "", "", shown(known.url_pattern, 300, style="dim"), "", ""))
        columns = "Layout, Kind, Template, Seen, Example, Visits, Pages in the last runs"
        print_table(f"Layouts of {domain.domain}", columns, rows, texts=5)
        for alarm in domain.alarms:
            say(f"Alarm since {alarm.raised_at:%Y-%m-%d %H:%M}: {alarm.cause}", "red")
        say("")
    say("scrapy dedup templates show DOMAIN LAYOUT tells how its pages are cut.", "dim")


def _version_of(layout: DomainLayout) -> str:
    template = layout.template
    return f"{template.version} {template.state}, {template.confidence:.2f}" if template else ""


def _seen(layout: DomainLayout) -> str:
    first, last = layout.first_seen_at, layout.last_seen_at
    if first is None or last is None:
        return ""
    return f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def trend(pages_by_run: tuple[int, ...]) -> str:
    """Return how many pages each of the last runs met, oldest first: 12 > 40 > 0."""
    return " > ".join(map(whole, pages_by_run[-_RUNS_SHOWN:]))


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


def _layouts(call: Call) -> int:
    with call.opened() as project:
        domains = domain_layouts(project, *map(call.domain, call.options.targets))
    if not print_answer(
        call, "templates", lambda answers: answers.LayoutsAnswer.of(project=call.project, domains=domains)
    ):
        _show_layouts(domains)
    return DONE


def _list(call: Call) -> int:
    with call.opened() as project:
        found = upkeep.list_templates(project, *map(call.domain, call.options.targets))
    if print_answer(call, "templates", lambda answers: answers.TemplatesAnswer.made(call.project, found)):
        return DONE
    rows = []
    for one, versions in found:
        words = (one.domain, name_of(one.layout), one.kind, one.state, one.url_pattern)
        rows.append((*words, f"{one.version} of {versions}", one.confidence, one.pages, len(one.overrides) or None))
    columns = "Domain, Layout, Kind, State, URLs, Version, Confidence, Pages, Overrides"
    print_table(f"Templates of project {call.project}", columns, rows, texts=5)
    say("")
    say("scrapy dedup templates show DOMAIN LAYOUT tells how pages are cut.", "dim")
    return DONE


def _show(call: Call) -> int:
    domain, layout = call.domain(call.options.targets[0]), (call.options.targets[1:] or [None])[0]
    if call.options.version is not None and layout is None:
        raise WrongCallError("templates show --version needs the layout, too: show DOMAIN LAYOUT --version N")
    with call.opened() as project:
        found = upkeep.show_templates(project, domain, layout, call.options.version)
    if not print_answer(call, "templates", lambda answers: answers.ShownTemplatesAnswer.made(call.project, found)):
        for each in found:
            _show_template(each)
    return DONE


def _diff(call: Call) -> int:
    domain, layout, *words = call.options.targets
    numbers = _number(words[0]), _number(words[1])
    with call.opened() as project:
        found = diff_templates(project, call.domain(domain), layout, numbers)
    if not print_answer(call, "templates", lambda answers: answers.TemplateDiffAnswer.made(found)):
        _show_diff(found)
    return DONE


def _override(call: Call) -> int:
    options = call.options
    domain, layout = call.domain(options.targets[0]), options.targets[1]
    if not options.decisions:
        raise WrongCallError("templates override needs --keep CSS, --drop CSS or --forget CSS")
    with call.opened() as project:
        change = _desk(call, project).override(domain, layout, options.decisions)
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


def _desk(call: Call, project: ProjectStore) -> TemplateDesk:
    return TemplateDesk(project, call.settings, datetime.now(UTC), dry_run=call.options.dry_run)


def _rollback(call: Call) -> int:
    options = call.options
    domain, layout, *words = options.targets
    number = _number(words[0]) if words else None
    with call.opened() as project:
        change = _desk(call, project).roll_back(call.domain(domain), layout, number)
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
    with call.opened() as project:
        found = export_templates(project, call.domain(options.domain) if options.domain else None)
    return write_export(call, found, "templates", "template")


def _import(call: Call) -> int:
    name, dry_run = call.options.targets[0], call.options.dry_run
    try:
        records = read_templates(text_of(name), datetime.now(UTC))
    except TemplateFileError as error:
        raise CommandError(f"{name}: {error}") from error
    with call.filled(dry_run=dry_run) as project:
        done = import_templates(project, records, dry_run=dry_run)
    if call.options.json:
        figures = {"added": done.added, "unchanged": done.unchanged, "domains": list(done.domains)}
        print_json({"file": name, "dry_run": not done.done, **figures})
    else:
        verb = "stored" if done.done else "would be stored"
        domains = f"of {count(len(done.domains), 'domain')} {verb}"
        say(f"{count(done.added, 'template')} {domains}, {whole(done.unchanged)} there already.")
        say_dry_run(dry_run=not done.done)
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
    "layouts": Action(_layouts, "[DOMAIN]", 0, 1),
    "list": Action(_list, "[DOMAIN]", 0, 1),
    "show": Action(_show, "DOMAIN [LAYOUT]", 1, 2, frozenset({"version"})),
    "diff": Action(_diff, "DOMAIN LAYOUT VERSION VERSION", 4, 4),
    "override": Action(_override, "DOMAIN LAYOUT", 2, 2, frozenset({"decisions", "dry_run"})),
    "rollback": Action(_rollback, "DOMAIN LAYOUT [VERSION]", 2, 3, frozenset({"dry_run"})),
    "export": Action(_export, "[FILE]", 0, 1, frozenset({"domain"})),
    "import": Action(_import, "FILE", 1, 1, frozenset({"dry_run"})),
}
