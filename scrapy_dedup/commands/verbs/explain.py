"""`scrapy dedup explain URL`: what is known of a URL, and why its blocks were removed.

JSON: `ExplanationAnswer` of `scrapy_dedup.answers.pages`. The exit code is 1 for a URL that was never met.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from rich.text import Text

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, print_answer, write_text
from scrapy_dedup.commands.terminal import output, print_table, say, shown
from scrapy_dedup.report.drawing import render_explanation
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.views.explain import Explanation, explain, facts_of, keys_of, page_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the URL, and where the drawing goes."""
    parser.add_argument("url", help="the page's address, as it was found")
    parser.add_argument("--html", metavar="FILE", type=Path, help="draw the page, block by block, as one HTML file")


def run(call: Call) -> int:
    """Print what is known of a URL."""
    keys_of(call.options.url, call.settings)  # a wrong URL is told before the store is looked for
    with call.opened() as project:
        found = explain(project, call.options.url, call.settings)
    file: Path | None = call.options.html
    if file is not None and found.is_known:
        write_text(file, render_explanation(page_of(found, datetime.now(UTC))))
    if not print_answer(call, "pages", lambda answers: answers.ExplanationAnswer.made(found)):
        show(found)
        if file is not None and found.is_known:
            output().print(Text(f"\nDrawn: {file}"), soft_wrap=True)
    return DONE if found.is_known else NOT_DONE


def show(found: Explanation) -> None:
    """Print the explanation."""
    say(found.keys.url, "bold", limit=2_000)
    for name, text in facts_of(found):
        output().print(Text.assemble((f"{name:<12}", "dim"), shown(text, 2_000)), soft_wrap=True)
    if not found.is_known:
        say(f"This URL was never met in project {found.project}.")
        return
    _show_decisions(found)
    _show_removed(found)
    _show_chunks(found)


def _show_decisions(found: Explanation) -> None:
    if found.decisions:
        say("")
        rows = ((one.layer, one.action, shown(one.reason, 500)) for one in found.decisions)
        print_table("Decisions", "Layer, Decision, Reason", rows, texts=3)


def _show_removed(found: Explanation) -> None:
    say("")
    if not found.removed:
        say("No block was removed.")
        return
    rows = (
        (
            shown(one.text or "(not known any more)", 120),
            f"{one.layer}: {one.evidence}",
            shown(one.path, 120, style="dim"),
            shown(one.fingerprint, style="dim"),
        )
        for one in found.removed
    )
    print_table(f"Removed: {count(len(found.removed), 'block')}", "Text, Why, Where, Block", rows, texts=4)
    # As `undo` takes it.
    rules = (f"{one.rule}: {one.rule_path}" if one.rule_path else one.rule for one in found.removed)
    for rule in dict.fromkeys(rules):
        say(f"Rule: {rule}", "dim", limit=1_000)
    say("What should have stayed: scrapy dedup undo BLOCK, or the page's URL, or a rule.", "dim")


def _show_chunks(found: Explanation) -> None:
    rows = []
    for one in found.chunks:
        why = f"{one.layer}: {one.reason}" if one.layer else one.reason or ""
        rows.append((shown(one.sample, 80), one.state, f"{why}, {one.holder_url}" if one.holder_url else why))
    if rows:
        say("")
        print_table(f"Chunks: {whole(len(rows))}", "Chunk, State, Why", rows, texts=3)
