"""Elements of a page by XPath 1.0."""

import re
from typing import Final

from lxml import etree, html  # type: ignore[import-untyped]
from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapy_dedup.core.errors import DedupError

PREFIX: Final = "xpath:"
_BEGINNINGS: Final = ("/", "./", "(", "..", PREFIX)
_MOST_CHARS: Final = 2_000
# Each step anywhere in a page multiplies the work: the bound of a page allows two beside the first on small ones.
_MOST_WIDE: Final = 3
WIDE: Final = re.compile(r"//|\b(?:following|preceding|ancestor|descendant)(?:-sibling|-or-self)?::")
_NUMBER: Final = re.compile(r"\d+")
# What XML cannot hold.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class XPathError(DedupError):
    """The text is no expression of XPath 1.0 that selects elements."""


def is_xpath(selector: str) -> bool:
    """Say whether a selector is meant as XPath: no CSS begins so."""
    return selector.lstrip().startswith(_BEGINNINGS)


def check_xpath(selector: str) -> None:
    """Raise unless an expression can be used.

    Raises:
        XPathError: it is none of XPath 1.0, selects no elements, or has too many steps that look everywhere.
    """
    expression = _bare(selector)
    if len(expression) > _MOST_CHARS:
        raise XPathError(f"it is longer than {_MOST_CHARS} characters")
    if len(WIDE.findall(expression)) > _MOST_WIDE:
        raise XPathError(f"it has more than {_MOST_WIDE} steps that look everywhere, such as //: name the way instead")
    try:
        found = etree.XPath(expression)(_EMPTY)
    except (etree.XPathError, ValueError) as error:
        raise XPathError(str(error) or "it cannot be read") from error
    if not isinstance(found, list) or expression.rstrip().endswith("text()") or _of_attribute(expression):
        raise XPathError("it gives a text, a number or an attribute: name elements")


_EMPTY: Final = html.document_fromstring("<p>a</p>")


def _of_attribute(expression: str) -> bool:
    return bool(re.search(r"/(?:@|attribute::)[\w:*-]+\s*$", expression))


def _bare(selector: str) -> str:
    return selector.strip().removeprefix(PREFIX).strip()


class Numbered:
    """A page as lxml reads it, each element with the number that it has in the page's own tree."""

    def __init__(self, tree: LexborHTMLParser, attribute: str) -> None:
        """Write a number on each element.

        Args:
            tree: of the page.
            attribute: no element has it.
        """
        self._attribute = attribute
        self._nodes = tree.css("*")
        for number, node in enumerate(self._nodes):
            node.attrs[attribute] = str(number)
        source = _CONTROLS.sub(" ", tree.html or "").encode("utf-8", "replace")
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        # As lexbor writes it a page has at least html, head and body: no parser finds it empty.
        self._root = html.document_fromstring(source, parser=parser)
        for node in self._nodes:
            del node.attrs[attribute]

    def select(self, selector: str) -> list[LexborNode]:
        """Return the elements that a checked expression selects."""
        try:
            found = self._root.xpath(_bare(selector))
        except etree.XPathError:
            return []
        numbers = (one.get(self._attribute, "") for one in found if isinstance(one, etree._Element))  # noqa: SLF001 (its only name)
        return [self._nodes[int(number)] for number in numbers if _NUMBER.fullmatch(number)]
