import pytest
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.drawing import render_report
from scrapy_dedup.report.numbers import COLUMNS, figures_of
from scrapy_dedup.report.values import Ledger, LedgerCheck, LedgerRow
from tests.report.builders import a_ledger, a_report, a_row, a_table
from tests.report.reading import texts

NONE = "\N{EN DASH}"


def read(ledger: Ledger) -> LexborHTMLParser:
    return LexborHTMLParser(render_report(a_report(ledger=ledger)))


def test_each_section_stands_in_its_place_and_what_there_is_not_has_none():
    tree, least = (
        read(a_ledger()),
        read(a_ledger(run=a_table(rows=(), costs=()), aliases=(), shared=(), domains=(), all_runs=None)),
    )

    assert texts(tree, "h2")[1:4] == ["What each layer saved", "One page, several addresses", "Most shared chunks"]
    assert texts(tree, ".savings .name") == ["title", "chunk"]
    cells = tree.css("table.wide")[0].css("tbody tr")[0].css("td")
    assert tuple(cell.attributes.get("data-label") for cell in cells) == COLUMNS
    assert "1.38 seconds of processor time of 15.0 that the crawl took." in texts(tree, "p.lead")
    assert "93\u00a0%" in texts(tree, "td")
    assert "/werking/*" in texts(tree, "code")
    assert "66 addresses of pages that have another one, by how both look; * is anything." in texts(tree, "p.lead")
    assert "33 by canonical, 33 by title" in texts(tree, ".note")
    headings = texts(least, "h2, h3, summary")
    assert not {"One page, several addresses", "Most shared chunks", "What it cost"} & set(headings)
    assert not any("runs together" in text or "By domain" in text for text in headings)
    assert least.css(".savings, .alarms") == []


@pytest.mark.parametrize(
    ("row", "figures"),
    [
        pytest.param(a_row(), ["53", NONE, "~159", "~52.5\u00a0k", "~13.1\u00a0k"], id="about"),
        pytest.param(
            a_row(is_about=False, blocks=1_344), ["53", "1,344", "159", "52.5\u00a0k", "13.1\u00a0k"], id="counted"
        ),
        pytest.param(
            LedgerRow("chunk", "", "", chunks=0, chars=0, tokens=0), [NONE, NONE, "0", "0", "0"], id="nothing"
        ),
    ],
)
def test_figures_say_what_is_about_and_what_is_not_counted(row, figures):
    assert figures_of(row) == figures


def test_counts_that_do_not_agree_are_shown_first():
    wrong = a_table(checks=(LedgerCheck("items", 5, 7), LedgerCheck("chunks", 3, 3)))

    assert texts(read(a_ledger(run=wrong)), ".alarms li") == ["items: 5, but 7"]
    assert read(a_ledger()).css(".alarms") == []
