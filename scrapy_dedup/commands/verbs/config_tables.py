"""What `scrapy dedup config` shows; the JSON is described in `config`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.text import Text

from scrapy_dedup.commands.call import print_json
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.core.patterns import Held
from scrapy_dedup.core.patterns_config import KEYS
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service import site_config as configs
from scrapy_dedup.store.site_configs import StoredSiteConfig

_ENTRIES_SHOWN: Final = 100
_WHY: Final = {
    Held.WHOLE_PAGE: "would leave nothing of the page",
    Held.PROTECTED: "selects most of what is left: content, on this page",
    Held.TIMEOUT: "took too long",
    Held.SWITCHED_OFF: "took too long on pages before",
    Held.TOO_MUCH_WORK: "too much work on a page of this size",
}


def show_one(domain: str, found: StoredSiteConfig | None, *, as_json: bool) -> None:
    """Print what is decided about one site."""
    if as_json:
        from scrapy_dedup.answers.config import ConfigAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(ConfigAnswer.made(domain, found))
    elif found is None:
        _say(f"Nothing is decided about {domain}: sites need no configuration.")
    else:
        _say(f"{domain}, version {found.version}, since {found.updated_at:%Y-%m-%d %H:%M}", style="bold")
        for key in KEYS:
            _show_entries(key, found.config.get(key, ()))


def _show_entries(key: str, entries: Sequence[str]) -> None:
    if not entries:
        return
    _say(f"  {key}")
    for one in entries[:_ENTRIES_SHOWN]:
        _say(f"    {one}")
    if len(entries) > _ENTRIES_SHOWN:
        _say(f"    and {whole(len(entries) - _ENTRIES_SHOWN)} more; --json lists them all", style="dim")


def show_all(project: str, found: Sequence[StoredSiteConfig], *, as_json: bool) -> None:
    """Print which sites have a configuration."""
    if as_json:
        from scrapy_dedup.answers.config import ConfigsAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(ConfigsAnswer.made(project, found))
        return
    table = a_table("Domain", *KEYS, "Version", texts=1)
    for one in found:
        table.add_row(shown(one.domain), *(whole(len(one.config.get(key, ()))) for key in KEYS), whole(one.version))
    print_table(f"Configurations of project {project}", table)


def show_changes(outcomes: Sequence[configs.Changed | configs.TriedConfig], *, dry_run: bool, as_json: bool) -> None:
    """Print what was changed, or would be."""
    if as_json:
        from scrapy_dedup.answers.config import ConfigChangesAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(ConfigChangesAnswer.of(changes=outcomes, dry_run=dry_run))
        return
    for one in outcomes:
        _say(_told(one))
    if dry_run:
        output().print(Text("Dry run: nothing was written.", style="bold"))
    elif any(isinstance(one, configs.Changed) and one.stale for one in outcomes):
        _say("scrapy dedup refine cleans these pages again, without their callbacks; else the next crawl does.", "dim")


def _told(one: configs.Changed | configs.TriedConfig) -> str:
    if isinstance(one, configs.TriedConfig):
        trial = one.trial
        if not trial.pages:
            return f"{one.domain}: no page is stored, so what would change cannot be shown."
        told = f"{one.domain}: of {count(trial.pages, 'stored page')} {whole(trial.changed)} would change"
        return f"{told}, by {whole(trial.chars_less)} characters less. {trial.example or ''}".rstrip()
    if not one.version:
        return f"{one.domain}: nothing is decided any more; {count(one.stale, 'page')} to be cleaned again."
    return f"{one.domain}: version {one.version} is stored; {count(one.stale, 'page')} to be cleaned again."


def show_test(tried: configs.Tried, *, as_json: bool) -> None:
    """Print what each pattern does on one page."""
    if as_json:
        from scrapy_dedup.answers.config import PatternTestAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(PatternTestAnswer.of(tried))
        return
    table = a_table("Pattern", "First text", "Tier", "Blocks", "Characters", texts=2)
    for one in tried.patterns:
        table.add_row(shown(one.pattern, 100), shown(one.sample, 80), *map(whole, (one.tier, one.blocks, one.chars)))
    print_table(f"What patterns of {tried.domain} leave out of {tried.url}", table)
    for pattern, reason in tried.held:
        _say(f"Not carried out: {pattern}: {_WHY[reason]}")
    if not tried.patterns and not tried.held:
        _say("No pattern matches what is left of this page once its template, or the fallback, has cut it.")


def show_export(file: Path, domains: int, *, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        print_json({"file": str(file), "domains": domains})
    else:
        _say(f"{count(domains, 'configuration')} written to {file}.")


def _say(text: str, style: str = "") -> None:
    found = len(text) - len(text.lstrip())
    output().print(Text.assemble(" " * found, shown(text, 500, style=style)), soft_wrap=True)
