"""`scrapy dedup store config ACTION`: what a person decides about a site: selectors, expressions, and what is to stay.

KEY is boilerplate_css_selectors, boilerplate_text_patterns, pdf_boilerplate_patterns, keep_blocks, keep_pages or
keep_rules. Each change is tried before it is stored; the domain's pages are then cleaned again, without their
callbacks, by `scrapy dedup templates refine` or the next crawl.

JSON: as in `scrapy_dedup.answers.domains`; version 0 says that nothing is left. export writes JSON by itself; with
--json and a FILE: `file`, `domains` (how many).
"""

import argparse
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Final, TypeAlias

from scrapy_dedup.commands.call import (
    DONE,
    NOT_DONE,
    Action,
    Call,
    CommandError,
    add_actions,
    opened_input,
    print_answer,
    run_action,
    text_of,
    write_export,
)
from scrapy_dedup.commands.terminal import print_table, say, say_dry_run, say_more
from scrapy_dedup.core.pages.blocks import Unparsed, parse_page
from scrapy_dedup.core.patterns import KEYS, PatternHeld, SiteConfig, SiteConfigError, checked_key
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service import patterns as configs
from scrapy_dedup.service.cut.cleaning import method_of
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.cut.site_patterns import check_configs
from scrapy_dedup.service.packed_files import most_line_bytes
from scrapy_dedup.service.policies import parse_limits
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.store.pages.site_configs import StoredSiteConfig
from scrapy_dedup.store.writer import ProjectStore

_Opened: TypeAlias = AbstractContextManager[ProjectStore]
_ENTRIES_SHOWN: Final = 100
_WHY: Final = {
    PatternHeld.WHOLE_PAGE: "would leave nothing of the page",
    PatternHeld.PROTECTED: "selects most of what is left: content, on this page",
    PatternHeld.TIMEOUT: "took too long",
    PatternHeld.SWITCHED_OFF: "took too long on pages before",
    PatternHeld.TOO_MUCH_WORK: "too much work on a page of this size",
}


def _show_one(call: Call, domain: str, found: StoredSiteConfig | None) -> int:
    if print_answer(call, "domains", lambda answers: answers.ConfigAnswer.made(domain, found)):
        return DONE
    if found is None:
        say(f"Nothing is decided about {domain}: sites need no configuration.")
    else:
        say(f"{domain}, version {found.version}, since {found.updated_at:%Y-%m-%d %H:%M}", style="bold")
        for key in KEYS:
            _show_entries(key, found.config.get(key, ()))
    return DONE


def _show_entries(key: str, entries: Sequence[str]) -> None:
    if entries:
        say(key, indent=2)
        for one in entries[:_ENTRIES_SHOWN]:
            say(one, indent=4)
        say_more(len(entries) - _ENTRIES_SHOWN, indent=4)


def _show_changes(call: Call, outcomes: Sequence[configs.Changed]) -> None:
    dry_run: bool = call.options.dry_run
    if print_answer(call, "domains", lambda answers: answers.ConfigChangesAnswer.of(changes=outcomes, dry_run=dry_run)):
        return
    for one in outcomes:
        say(_told(one))
    say_dry_run(dry_run=dry_run)
    if not dry_run and any(one.stale for one in outcomes):
        told = "scrapy dedup templates refine cleans these pages again, without callbacks; else the next crawl does."
        say(told, "dim")


def _told(one: configs.Changed) -> str:
    trial = one.trial
    if trial is not None:
        if not trial.pages:
            return f"{one.domain}: no page is stored, so what would change cannot be shown."
        told = f"{one.domain}: of {count(trial.pages, 'stored page')} {whole(trial.changed)} would change"
        return f"{told}, by {whole(trial.chars_less)} characters less. {trial.example or ''}".rstrip()
    if not one.version:
        return f"{one.domain}: nothing is decided any more; {count(one.stale or 0, 'page')} to be cleaned again."
    return f"{one.domain}: version {one.version} is stored; {count(one.stale or 0, 'page')} to be cleaned again."


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options; which belong together is checked when it runs."""
    add_actions(parser, ACTIONS)
    add = parser.add_argument
    add("--html", metavar="FILE", help="test: this file in place of the stored page")
    add("--dry-run", action="store_true", help="set, add, unset, import: only say how many stored pages would change")


def run(call: Call) -> int:
    """Do what was asked for."""
    return run_action(call, "store config", ACTIONS)


def _get(call: Call) -> int:
    targets = call.options.targets
    with call.opened() as project:
        if targets:
            domain = call.domain(targets[0])
            found = project.site_config(domain)
            return _show_one(call, domain, found)
        every = project.site_configs()
    if print_answer(call, "domains", lambda answers: answers.ConfigsAnswer.made(call.project, every)):
        return DONE
    rows = ((one.domain, *(len(one.config.get(key, ())) for key in KEYS), one.version) for one in every)
    print_table(f"Configurations of project {call.project}", f"Domain, {', '.join(KEYS)}, Version", rows)
    return DONE


def _set(call: Call) -> int:
    domain, key, *entries = call.options.targets
    return _change(call, _filled(call), domain, lambda present: present.changed(checked_key(key), entries))


def _add(call: Call) -> int:
    domain, key, *entries = call.options.targets
    return _change(call, _filled(call), domain, lambda present: configs.merged(present, checked_key(key), entries))


def _unset(call: Call) -> int:
    domain, *keys = call.options.targets
    return _change(
        call, call.opened(), domain, lambda present: present.changed(checked_key(keys[0]), ()) if keys else SiteConfig()
    )


def _filled(call: Call) -> _Opened:
    """Who knows a site may say so before its first crawl."""
    return call.filled(dry_run=call.options.dry_run)


def _change(call: Call, opened: _Opened, domain: str, change: Callable[[SiteConfig], SiteConfig]) -> int:
    domain = call.domain(domain)
    with opened as project:
        config = change(configs.stored_config(project, domain) or SiteConfig())
        outcome = _put(call, project, domain, config)
    _show_changes(call, [outcome])
    return DONE


def _put(call: Call, project: ProjectStore, domain: str, config: SiteConfig) -> configs.Changed:
    at = None if call.options.dry_run else datetime.now(UTC)
    return configs.change_config(project, domain, config, call.settings, at)


def _import(call: Call) -> int:
    name, *domains = call.options.targets
    try:
        found = configs.read_configs(text_of(name), call.domain(domains[0]) if domains else None)
    except (configs.ConfigFileError, SiteConfigError) as error:
        raise CommandError(f"{name}: {error}") from error
    with call.filled(dry_run=call.options.dry_run) as project:
        # All are tried before the first is stored.
        check_configs(found, allow_slow=call.settings.allow_slow_patterns)
        outcomes = [_put(call, project, domain, config) for domain, config in found.items()]
    _show_changes(call, outcomes)
    return DONE if found else NOT_DONE


def _export(call: Call) -> int:
    with call.opened() as project:
        found = configs.export_configs(project)
    return write_export(call, found, "domains", "configuration")


def _test(call: Call) -> int:
    url, *domains = call.options.targets
    keys = keys_of(url, call.settings)
    domain = call.domain(domains[0]) if domains else keys.domain
    if call.options.html:
        reading = _read_file(call, call.options.html, url)
        with call.filled(dry_run=True) as project:
            tried = configs.try_on_page(project, domain, reading, call.settings)
    else:
        with call.opened() as project:
            page = project.page(keys.page_key)
            source = page.source if page else None
            if source is None:
                raise CommandError(f"{url} is not stored: name a file of its HTML by --html FILE")
            stored = read_again(source, call.settings)
            if stored is None:
                raise CommandError(f"{url}: its original is not kept, or cannot be parsed; name a file by --html FILE")
            tried = configs.try_on_page(project, domain, stored, call.settings)
    if print_answer(call, "domains", lambda answers: answers.PatternTestAnswer.of(tried)):
        return DONE
    rows = ((one.pattern, one.sample, one.tier, one.blocks, one.chars) for one in tried.patterns)
    title = f"What patterns of {tried.domain} leave out of {tried.url}"
    print_table(title, "Pattern, First text, Tier, Blocks, Characters", rows, texts=2)
    for pattern, reason in tried.held:
        say(f"Not carried out: {pattern}: {_WHY[reason]}")
    if not tried.patterns and not tried.held:
        say("No pattern matches what is left of this page once its template, or the fallback, has cut it.")
    return DONE


def _read_file(call: Call, file: str, url: str) -> Reading:
    # What has more bytes than a page may have is read and refused with the words for pages.
    with opened_input(file, most_line_bytes(call.settings)) as content:
        html = content.read().decode("utf-8", "replace")
    page = parse_page(html, parse_limits(call.settings))
    if isinstance(page, Unparsed):
        raise CommandError(f"{file} is not parsed: {page.reason}")
    # Expressions see a page alike, whatever the method; the text method would leave selectors nothing to match.
    chosen = method_of(call.settings, has_html=True)
    return Reading("template" if chosen == "text" else chosen, page, "", url, html)


_MANY: Final = 1_000_000
_DRY: Final = frozenset({"dry_run"})
ACTIONS: Final = {
    "get": Action(_get, "[DOMAIN]", 0, 1),
    "set": Action(_set, f"DOMAIN KEY ENTRY..., KEY one of {', '.join(KEYS)}", 3, _MANY, _DRY),
    "add": Action(_add, "DOMAIN KEY ENTRY...", 3, _MANY, _DRY),
    "unset": Action(_unset, "DOMAIN [KEY]", 1, 2, _DRY),
    "import": Action(_import, "FILE [DOMAIN]", 1, 2, _DRY),
    "export": Action(_export, "[FILE]", 0, 1),
    "test": Action(_test, "URL [DOMAIN]", 1, 2, frozenset({"html"})),
}
