"""What `scrapy dedup refine` says when it is done."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from scrapy_dedup.commands.call import print_json
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.plugin.refining import Emitted
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.refining import Churn, PassedOver

_DOMAINS_SHOWN: Final = 200
_WHY: Final = {
    PassedOver.NO_KNOWLEDGE: "of domains without a template or other knowledge",
    PassedOver.UNREADABLE: "not to be parsed",
    PassedOver.NOT_SEEN: "whose last version was not acknowledged, and comes again by itself",
    PassedOver.REMOVED: "removed from their site",
    PassedOver.WITHOUT_ITEMS: "whose callback gives no items today",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call."""

    dry_run: bool
    output: str | None
    churns: Mapping[str, Churn]
    emitted: Emitted


def tell(project: str, outcome: Outcome, *, as_json: bool) -> None:
    """Print the outcome: as JSON, or for a person."""
    if as_json:
        print_json(_as_json(project, outcome))
        return
    _show(project, outcome)
    console = output()
    for line in _lines(outcome):
        console.print(shown(line, 1_000), soft_wrap=True)
    if outcome.dry_run:
        console.print(Text("Dry run: nothing was written.", style="bold"))


def _as_json(project: str, outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "project": project,
        "dry_run": outcome.dry_run,
        "domains": [_domain(churn) for churn in outcome.churns.values()],
    }
    if not outcome.dry_run:
        emitted = dataclasses.asdict(outcome.emitted)
        del emitted["errors"]
        found |= {"output": outcome.output, "emitted": emitted}
    return found


def _domain(churn: Churn) -> dict[str, Any]:
    names = "domain pages changed chars_before chars_after example".split()
    why = {str(reason): pages for reason, pages in sorted(churn.passed_over.items())}
    return {name: getattr(churn, name) for name in names} | {"passed_over": why, "not_kept": churn.not_kept}


def _show(project: str, outcome: Outcome) -> None:
    """Print a table, the domains with most changes first."""
    changing = [churn for churn in outcome.churns.values() if churn.changed]
    if not changing:
        return
    changes = "Would change" if outcome.dry_run else "Changed"
    table = a_table("Domain", "Such as", "Pages", changes, "Characters before", "After", texts=2)
    changing.sort(key=lambda churn: (-churn.changed, churn.domain))
    for churn in changing[:_DOMAINS_SHOWN]:
        figures = (churn.pages, churn.changed, churn.chars_before, churn.chars_after)
        table.add_row(shown(churn.domain, 100), shown(churn.example or "", 100), *map(whole, figures))
    print_table(f"Texts of project {project} that {'would change' if outcome.dry_run else 'changed'}", table)
    if len(changing) > _DOMAINS_SHOWN:
        output().print(f"and {whole(len(changing) - _DOMAINS_SHOWN)} more; --json lists them all")


def _lines(outcome: Outcome) -> Iterator[str]:
    churns = outcome.churns.values()
    pages, changed = sum(churn.pages for churn in churns), sum(churn.changed for churn in churns)
    changes = "would change" if outcome.dry_run else "changes"
    yield f"The clean text of {whole(changed)} of {count(pages, 'page')} {changes}."
    if not outcome.dry_run:
        yield from _emitted(outcome)
    why = sum((churn.passed_over for churn in churns), Counter[PassedOver]())
    for reason, number in sorted(why.items()):
        yield f"Passed over: {count(number, 'page')} {_WHY[reason]}."
    if not_kept := sum(churn.not_kept for churn in churns):
        yield (
            f"Not to be cleaned again: {count(not_kept, 'page')} whose original is not kept (DEDUP_KEEP_PAGES, "
            "DEDUP_STORE_MAX_BYTES)."
        )


def _emitted(outcome: Outcome) -> Iterator[str]:
    emitted = outcome.emitted
    where = f", to {outcome.output}" if outcome.output else ""
    yield f"Emitted: {count(emitted.pages, 'page')} with {count(emitted.items, 'item')}{where}."
    if emitted.made_anew:
        yield (
            f"Of {count(emitted.made_anew, 'page')} the callback's items are not held, or could not be made again: a "
            "dict with url, cleaned_content, title, date, author and dedup stands for them."
        )
    if emitted.dropped:
        yield f"Dropped by the project's pipelines: {count(emitted.dropped, 'item')}."
    if emitted.failed:
        yield f"Failed: {count(emitted.failed, 'page')}; the next call emits them again."
    if waiting := emitted.pages - emitted.stored:
        yield f"Not stored: {count(waiting, 'page')} whose feed was not stored, or that changed meanwhile."
    if not emitted.complete:
        yield f"Ended early ({emitted.reason}): the next call emits the rest."
