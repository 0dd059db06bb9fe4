import re

from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.drawing import render_report
from scrapy_dedup.report.values import Report


def read(report: Report) -> LexborHTMLParser:
    return LexborHTMLParser(render_report(report))


def texts(tree: LexborHTMLParser, selector: str) -> list[str]:
    """Return what elements say; a space that does not break stays one."""
    return [re.sub("[ \n]+", " ", node.text(separator="", strip=False)).strip() for node in tree.css(selector)]


def shape_of(tree: LexborHTMLParser) -> set[tuple[str, ...]]:
    """Return which elements there are, each with the names of its attributes."""
    return {(node.tag or "", *sorted(node.attributes)) for node in tree.css("*")}
