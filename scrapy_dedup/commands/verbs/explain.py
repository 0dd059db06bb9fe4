"""`scrapy dedup explain URL`: what is known of a URL, and why its blocks were removed.

JSON: `ExplanationAnswer` of `scrapy_dedup.answers.pages`. The exit code is 1 for a URL that was never met.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, print_answer
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.commands.verbs.report import write_html
from scrapy_dedup.report.drawing import render_explanation
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.report.values import ExplainedBlock
from scrapy_dedup.service.views.explain import Explanation, chunks_of, explain, facts_of, keys_of, page_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the URL, and where the drawing goes."""
    parser.add_argument("url", help="the page's address, as it was found")
    parser.add_argument("--html", metavar="FILE", type=Path, help="draw the page, block by block, as one HTML file")


def run(call: Call) -> int:
    """Print what is known of a URL."""
    keys_of(call.options.url, call.settings)  # a wrong URL is told before the store is looked for
    with call.opened() as (store, project):
        found = explain(store, project.name, call.options.url, call.settings)
    file: Path | None = call.options.html
    if file is not None and found.is_known:
        write_html(file, render_explanation(page_of(found, datetime.now(UTC))))
    if not print_answer(call, "pages", lambda answers: answers.ExplanationAnswer.made(found)):
        show(found)
        if file is not None and found.is_known:
            output().print(Text(f"\nDrawn: {file}"), soft_wrap=True)
    return DONE if found.is_known else NOT_DONE


def show(found: Explanation) -> None:
    """Print the explanation."""
    console = output()
    console.print(shown(found.keys.url, 2_000, style="bold"), soft_wrap=True)
    for name, text in facts_of(found):
        console.print(Text.assemble((f"{name:<12}", "dim"), shown(text, 2_000)), soft_wrap=True)
    if not found.is_known:
        console.print(shown(f"\nThis URL was never met in project {found.project}."))
        return
    _show_decisions(found, console)
    _show_removed(found, console)
    _show_chunks(found, console)


def _show_decisions(found: Explanation, console: Console) -> None:
    if not found.decisions:
        return
    table = a_table("Layer", "Decision", "Reason", texts=3)
    for decision in found.decisions:
        table.add_row(shown(decision.layer), shown(decision.action), shown(decision.reason, 500))
    console.print()
    print_table("Decisions", table)


def _show_removed(found: Explanation, console: Console) -> None:
    if not found.removed:
        console.print("\nNo block was removed.")
        return
    table = a_table("Text", "Why", "Where", "Block", texts=4)
    for block in found.removed:
        why = f"{block.layer}: {block.evidence}"
        texts = (shown(block.text or "(not known any more)", 120), shown(why))
        table.add_row(*texts, shown(block.path, 120, style="dim"), shown(block.fingerprint, style="dim"))
    console.print()
    print_table(f"Removed: {count(len(found.removed), 'block')}", table)
    for rule in dict.fromkeys(_rule(block) for block in found.removed):
        console.print(Text.assemble("Rule: ", shown(rule, 1_000), style="dim"), soft_wrap=True)
    console.print(Text("What should have stayed: scrapy dedup undo BLOCK, or the page's URL, or a rule.", style="dim"))


def _rule(block: ExplainedBlock) -> str:
    """Return a rule as `undo` takes it."""
    return f"{block.rule}: {block.where}" if block.where else block.rule


def _show_chunks(found: Explanation, console: Console) -> None:
    chunks = chunks_of(found)
    if not chunks:
        return
    table = a_table("Chunk", "State", "Why", texts=3)
    for chunk in chunks:
        why = f"{chunk.layer}: {chunk.reason}" if chunk.layer else chunk.reason
        why += f", {chunk.holder}" if chunk.holder else ""
        table.add_row(shown(chunk.sample, 80), shown(chunk.state), shown(why, 300))
    console.print()
    print_table(f"Chunks: {whole(len(chunks))}", table)
