"""Which blocks of a page stand in elements that a selector matches."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from math import comb
from typing import Final, NamedTuple

from lxml import etree, html  # type: ignore[import-untyped]
from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from scrapy_dedup.core.errors import DedupError, InvalidError
from scrapy_dedup.core.pages.blocks import Page, parse_tree
from scrapy_dedup.core.pages.gather import Gatherer
from scrapy_dedup.core.pages.tags import BODY, LONG_TAG, Place, name_and_attributes

# A unit is 5 ns: what all selectors of a page may take together ends within two thirds of a second.
_MOST_UNITS: Final = 120_000_000
_UNITS_AN_ELEMENT: Final = 10
_UNITS_A_CONDITION: Final = 40
# The ways to take more are too many on any page.
_MOST_STEPS: Final = 20
# An element that is matched is written on, at 1 to 2 µs.
_UNITS_A_MARK: Final = 400

_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\[[^\]]*\]")
# A space behind a bracket is a step.
_AROUND_COMBINATOR: Final = re.compile(r"\s*([>+~,])\s*|(?<=\()\s+|\s+(?=\))")
_NTH: Final = re.compile(r":nth-")
_PART: Final = re.compile(r":nth-[\w-]+\(|:has\(|contains\(|[(),>+~ ]")
_LOOKS: Final = (":has(", "contains(")
_NEAR: Final = re.compile(r":has\([>+]")
_UNITS_A_LOOK: Final = 3
_CHARS_A_LOOK: Final = 16

PREFIX: Final = "xpath:"
_BEGINNINGS: Final = ("/", "./", "(", "..", PREFIX)
_MOST_CHARS: Final = 2_000
# The generic selectors have seven at most; the parser takes 40 µs for each.
_MOST_PARTS: Final = 100
# Each step anywhere in a page multiplies the work: the bound of a page allows two beside the first on small ones.
_MOST_WIDE: Final = 3
_TOKEN: Final = re.compile(
    r"\s*(\"[^\"]*\"|'[^']*'|\d+(?:\.\d*)?|\.\d+|//?|\.\.?|::|[!<>]=|[\w-]+(?::(?!:)[\w*-]+)?\s*\(?|\S)"
)
_OPERATORS: Final = frozenset(("=", "!=", "<", "<=", ">", ">="))
_BEFORE_OPERAND: Final = _OPERATORS | {"", "@", "::", "(", "[", ",", "/", "//", "|", "+", "-", "and", "or"}
_ARITHMETIC: Final = frozenset(("*", "div", "mod", "div(", "mod("))
_DOWN: Final = frozenset(("child", "attribute", "self", "descendant", "descendant-or-self"))
_UP: Final = frozenset(("parent", "ancestor", "ancestor-or-self"))
_OF_TEXT: Final = frozenset(("string(", "normalize-space(", "string-length(", "number("))
_INSTEAD: Final = "a condition is one on the element and on what is in it, such as [@class='x'] or [.//a]"
_NUMBER: Final = re.compile(r"\d+")
# What XML cannot hold.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class SelectorError(InvalidError):
    """The text is no selector."""


def check_selector(selector: str) -> None:
    """Raise unless a text is a CSS selector that can be used.

    Raises:
        SelectorError: it is none, one with what the parser does not know, or one of too many parts.
    """
    parts = selector.count(",") + 1
    if parts > _MOST_PARTS:
        raise SelectorError(f"{selector[:60]!r}… is {parts:,} selectors with commas between: {_MOST_PARTS} are allowed")
    try:
        LexborHTMLParser("<p>").css(selector)
    except (SelectolaxError, ValueError) as error:
        raise SelectorError(f"{selector!r} is no CSS selector that can be used: {error}") from error


def check_any_selector(selector: str) -> None:
    """Raise unless a text is a CSS selector, or an expression of XPath 1.0, that can be used.

    Raises:
        SelectorError: it is neither.
    """
    if not is_xpath(selector):
        check_selector(selector)
        return
    try:
        check_xpath(selector)
    except XPathError as error:
        raise SelectorError(f"{selector!r} is no XPath 1.0 that can be used: {error}") from error


class Marking(Struct, frozen=True):
    """What selectors match on a page."""

    blocks: list[frozenset[int]]
    """For each block the places of the selectors that match an element around it."""
    too_costly: frozenset[int] = frozenset()
    """Of selectors that would take too long on this page; they match nothing."""


def marked_blocks(html: str, page: Page, selectors: Sequence[str]) -> list[frozenset[int]]:
    """Return for each block of a page the selectors that match an element around it, see `mark`."""
    return mark(html, page, selectors).blocks


def mark(html: str, page: Page, selectors: Sequence[str]) -> Marking:
    """Return what checked selectors match on a page, within a bound of time.

    *page* is what `parse_page` made of *html*. Selectors that match elements within a block match nothing.
    """
    tree = parse_tree(html)
    nothing = [frozenset[int]()] * len(page.blocks)
    body = tree.body
    if body is None or not selectors:
        return Marking(nothing)
    attribute = unused_name(html, "data-dedup-mark-")
    too_costly = _mark_elements(tree, body, attribute, selectors)
    gatherer = Gatherer()
    gatherer.over(body.inner_html or "")
    marks = _Marks(attribute, body.attributes.get(attribute) or "")
    found, here = [], BODY
    for step in gatherer.walk:
        if isinstance(step, Place):
            here = step
        elif isinstance(step, int):
            found.append(marks.of(here))
    # A page so odd that the attributes changed how it reads has no marks: nothing is guessed.
    return Marking(found if len(found) == len(page.blocks) else nothing, too_costly)


def _mark_elements(
    tree: LexborHTMLParser, body: LexborNode, attribute: str, selectors: Sequence[str]
) -> frozenset[int]:
    """Write the place of each selector on the elements that it matches; return those that would take too long."""
    costs, too_costly = Costs(tree), set()
    numbered: NumberedTree | None = None
    marked: dict[int, tuple[LexborNode, list[str]]] = {}
    for place, selector in enumerate(selectors):
        if not costs.allow(selector):
            too_costly.add(place)
            continue
        if is_xpath(selector):
            numbered = numbered or NumberedTree(tree, f"{attribute}-at")
            nodes = numbered.select(selector)
        else:
            nodes = tree.css(selector)
        if len(nodes) > 1 and any(node.tag in ("html", "body") for node in nodes[:2]):
            nodes = [body]
        if not costs.allow_marks(len(nodes)):
            too_costly.add(place)
            continue
        for node in nodes:
            target = body if node.tag == "html" else node
            marked.setdefault(target.mem_id, (target, []))[1].append(str(place))
    for target, places in marked.values():
        target.attrs[attribute] = " ".join(places)
    return frozenset(too_costly)


def unused_name(html: str, beginning: str) -> str:
    """Return the name of an attribute that no element of a page has."""
    folded = html.lower()
    return next(name for number in count() if (name := f"{beginning}{number}") not in folded)


class _Marks:
    """The numbers that an attribute of the elements around a place holds; each place is looked at once."""

    def __init__(self, attribute: str, of_body: str) -> None:
        self._attribute = re.compile(rf' {attribute}="([\d ]+)"')
        self._known: dict[Place, frozenset[int]] = {BODY: _numbers(of_body)}

    def of(self, place: Place) -> frozenset[int]:
        unknown = []
        while place not in self._known and place.outer is not None:
            unknown.append(place)
            place = place.outer
        marks = self._known[place]
        for inner in reversed(unknown):
            found = self._attribute.search(inner.source)
            marks = self._known[inner] = marks | _numbers(found[1]) if found else marks
        return marks


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split()))


class Form(NamedTuple):
    """What makes a selector slow."""

    inner: int
    """Steps from an element to any one above or below it: the parser tries all ways to take them."""
    beside: int
    """Steps to any element beside it."""
    times: int = 1
    """Of CSS its parts with commas between; of XPath how often a condition looks at the text of an element."""
    looks: int = 0
    """How often what is in an element is looked at for each of those from which a step leads to it; not of XPath."""
    is_near: bool = False
    """Whether its children alone are."""
    reads: bool = False
    """Whether its text is."""


class SlowShape(NamedTuple):
    """What makes a page slow."""

    elements: int
    depth: int
    siblings: int
    chars: int = 0
    """Of all text."""


@lru_cache(maxsize=4_096)
def form_of(selector: str) -> Form:
    """Return what makes a selector slow."""
    if is_xpath(selector):
        wide, texts = _read_xpath(_bare(selector))
        return Form(max(0, wide - 1), 0, texts)
    bare = _AROUND_COMBINATOR.sub(r"\1", _QUOTED.sub("_", selector).strip())
    parts = bare.split(",")
    inner = max(len(part.split()) - 1 for part in parts) + bare.count(":has(")
    looks = sum(map(bare.count, _LOOKS)) if _leads_to_look(bare) else 0
    is_near, reads = len(_NEAR.findall(bare)) == looks, _LOOKS[1] in bare
    return Form(inner, bare.count("~") + len(_NTH.findall(bare)), len(parts), looks, is_near, reads)


def _leads_to_look(bare: str) -> bool:
    """Say whether a step leads from an element to one in which a selector looks, and not to it alone."""
    opened, looks = list[str](), [False]
    for part in _PART.findall(bare):
        if part.endswith("("):
            opened.append(part)
            looks.append(False)
        elif part == ")" and opened:
            inside, pseudo = looks.pop(), opened.pop()
            looks[-1] |= inside or pseudo in _LOOKS
            if inside and pseudo.startswith(":nth-"):
                return True
        elif part != ",":
            if looks[-1]:
                return True
        elif not opened:
            looks[-1] = False
    return False


def units(form: Form, shape: SlowShape, *, xpath: bool = False) -> int:
    """Return about how much work a selector is, at its worst."""
    n, depth, siblings, chars = shape
    if xpath:
        # Each step anywhere joins sets of elements, which takes the square of their size; the text of an element is
        # put together anew for each around it.
        steps = int((n * n * depth // 10) ** form.inner) if form.inner else n * _UNITS_AN_ELEMENT
        return steps + int(form.times * (n * _UNITS_A_CONDITION + chars * depth) * depth**form.inner)
    # There are as many ways to begin with where a selector has more steps than the page.
    ways = comb(depth, min(form.inner, depth // 2, _MOST_STEPS)) * comb(
        siblings, min(form.beside, siblings // 2, _MOST_STEPS)
    )
    return n * (_UNITS_AN_ELEMENT + ways * form.times)


def units_of_looks(form: Form, tree: LexborHTMLParser, shape: SlowShape) -> int:
    """Return about how much work it is to look into elements anew for each of those from which steps lead to them."""
    # The sum says already what one step takes.
    up = form.inner - form.looks
    inner, beside = (up - 1, form.beside) if up > 0 else (0, max(0, form.beside - 1))
    ways = comb(shape.depth, min(inner, _MOST_STEPS)) * comb(shape.siblings, min(beside, _MOST_STEPS))
    times = ways * int(shape.depth ** (form.looks - 1))
    return _UNITS_A_LOOK * times * _looked_into(tree, form, goes_far=up + form.beside > 0)


class Costs:
    """What may still be spent on the selectors of one page."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._left = _MOST_UNITS
        self._shape: SlowShape | None = None

    def allow(self, selector: str) -> bool:
        """Say whether a selector may be run, and count it."""
        if self._shape is None:
            self._shape = _shape_of(self._tree)
        form = form_of(selector)
        cost = units(form, self._shape, xpath=is_xpath(selector))
        if form.looks and cost <= self._left:
            cost += units_of_looks(form, self._tree, self._shape)
        return self._spend(cost)

    def allow_marks(self, elements: int) -> bool:
        """Say whether so many elements may be marked, and count them; after the first that may not no selector runs."""
        allowed = self._spend(elements * _UNITS_A_MARK)
        if not allowed:
            self._left = 0
        return allowed

    def _spend(self, cost: int) -> bool:
        if cost > self._left:
            return False
        self._left -= cost
        return True


def _shape_of(tree: LexborHTMLParser) -> SlowShape:
    root = tree.root
    elements = deepest = most = 0
    stack: list[tuple[LexborNode, int]] = [(root, 1)] if root is not None else []
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        children = [(child, depth + 1) for child in node.iter()]
        elements += len(children)
        most = max(most, len(children))
        stack += children
    return SlowShape(elements + 1, deepest, most, len(root.text(deep=True)) if root is not None else 0)


def _looked_into(tree: LexborHTMLParser, form: Form, *, goes_far: bool) -> int:
    """Return the sum over all elements of what is looked at in them, times those from which steps lead to them."""
    nodes: list[tuple[LexborNode, int]] = [(tree.root, 0)] if tree.root is not None else []
    children, chars = [0] * len(nodes), [0] * len(nodes)
    for place, (node, _) in enumerate(nodes):
        for child in node.iter(include_text=True):
            if child.is_text_node:
                chars[place] += len(child.text_content or "")
            else:
                nodes.append((child, place))
                children.append(0)
                chars.append(0)
                children[place] += 1
    sizes, found = [1] * len(nodes), 0
    for place in range(len(nodes) - 1, -1, -1):
        looked_at = children[place] if form.is_near else sizes[place] + form.reads * chars[place] // _CHARS_A_LOOK
        found += looked_at * (sizes[place] if goes_far else children[place])
        if place:
            sizes[nodes[place][1]] += sizes[place]
            chars[nodes[place][1]] += chars[place]
    return found


class XPathError(DedupError):
    """The text is no expression of XPath 1.0 that selects elements."""


def is_xpath(selector: str) -> bool:
    """Say whether a selector is meant as XPath: no CSS begins so."""
    return selector.lstrip().startswith(_BEGINNINGS)


def check_xpath(selector: str) -> None:
    """Raise unless an expression can be used.

    Raises:
        XPathError: it is none of XPath 1.0, selects no elements, or has what may take longer than a page is worth.
    """
    expression = _bare(selector)
    if len(expression) > _MOST_CHARS:
        raise XPathError(f"it is longer than {_MOST_CHARS} characters")
    if _read_xpath(expression).wide > _MOST_WIDE:
        raise XPathError(f"it has more than {_MOST_WIDE} steps that look everywhere, such as //: name the way instead")
    try:
        found = etree.XPath(expression)(_EMPTY)
    except (etree.XPathError, ValueError) as error:
        raise XPathError(str(error) or "it cannot be read") from error
    if not isinstance(found, list) or expression.rstrip().endswith("text()") or _of_attribute(expression):
        raise XPathError("it gives a text, a number or an attribute: name elements")


class _Read(NamedTuple):
    wide: int
    """Steps to elements anywhere above or below."""
    texts: int


def _read_xpath(expression: str) -> _Read:
    """Return what makes an expression slow.

    Raises:
        XPathError: nothing bounds it: conditions on what is elsewhere, which are looked at for each element.
    """
    read = ["".join(found.split()) if found[0] not in "'\"" else "''" for found in _TOKEN.findall(expression)]
    level = wide = texts = 0
    for before, part, after in zip(["", *read], read, [*read[1:], ""], strict=False):
        level += (part == "[") - (part == "]")
        is_first = before in _BEFORE_OPERAND or before.endswith("(")
        if not is_first and part in _ARITHMETIC:
            raise XPathError(f"it calculates: {_INSTEAD}")
        if after == "::" and part not in _DOWN | _UP:
            raise XPathError(
                f"{part}:: looks at what stands beside: write CSS for it, such as h2 ~ ul or p:has(+ form)"
            )
        is_root = part in ("/", "//") and is_first
        is_up = part == ".." or (after == "::" and part in _UP)
        if part == "id(" or (level and (is_root or is_up or part == "|")):
            raise XPathError(f"{part} in a condition looks elsewhere: {_INSTEAD}")
        if part in _OPERATORS and not (_is_value(before) or _is_value(after)):
            raise XPathError(f"{part} compares sets of elements: compare with a text or a number")
        wide += part == "//" or is_up or (after == "::" and part.startswith("descendant"))
        is_name = part[0].isalpha() and part[-1] != "(" and before != "@" and after != "::"
        is_whole = part in _OF_TEXT and after == ")"
        texts += level > 0 and (is_whole or part in (".", "*") or (is_name and part not in ("and", "or")))
    return _Read(wide, texts)


def _is_value(part: str) -> bool:
    return part in ("''", "last(") or part[:1].isdigit()


_EMPTY: Final = html.document_fromstring("<p>a</p>")


def _of_attribute(expression: str) -> bool:
    return bool(re.search(r"/(?:@|attribute::)[\w:*-]+\s*$", expression))


def _bare(selector: str) -> str:
    return selector.strip().removeprefix(PREFIX).strip()


class NumberedTree:
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


# Selectors that an element's start tag alone answers, those of what is no content on any site among them: the walk
# through a page knows its tags, no tree is needed.
class GenericSelector(NamedTuple):
    """A selector that holds on any site."""

    selector: str
    reason: str
    outside_content: bool = False
    """Within `main` and `article` it means something else, and there matches nothing."""


GENERIC_SELECTORS: Final[tuple[GenericSelector, ...]] = (
    # Elements and roles that HTML and ARIA made for what surrounds content.
    GenericSelector("nav", "HTML's element for ways through a site"),
    GenericSelector("header", "a page's head; within an article it is the article's own", outside_content=True),
    GenericSelector("footer", "a page's foot; within an article it may hold notes", outside_content=True),
    GenericSelector("aside", "beside the content; within an article it may be a note", outside_content=True),
    GenericSelector('[role="navigation"]', "ARIA's word for ways through a site"),
    GenericSelector('[role="banner"]', "ARIA's word for a site's head", outside_content=True),
    GenericSelector('[role="contentinfo"]', "ARIA's word for a site's foot"),
    GenericSelector('[role="complementary"]', "ARIA's word for what stands beside content", outside_content=True),
    GenericSelector('[role="search"]', "ARIA's word for a search form"),
    GenericSelector('[role="menu"], [role="menubar"]', "ARIA's words for menus of commands"),
    # Ways through a site, by the names that independent designs share.
    GenericSelector(".breadcrumb, .breadcrumbs", "the way to this page"),
    GenericSelector("#breadcrumb, #breadcrumbs", "the way to this page"),
    GenericSelector('[itemtype$="schema.org/BreadcrumbList"]', "the way to this page, as schema.org marks it"),
    GenericSelector(".navbar", "the bar of a site's menu"),
    GenericSelector(".main-menu, .mega-menu, .tb-megamenu", "a site's menu"),
    GenericSelector(".pagination, .pager", "the way to more pages of a list"),
    GenericSelector(".skip-link, .skip-to-content", "a way past the menu, for readers of screens"),
    GenericSelector(".sidebar", "a column beside the content"),
    GenericSelector("#sidebar", "a column beside the content"),
    GenericSelector(".widget-area", "WordPress's place for boxes beside the content"),
    GenericSelector(".site-header, #masthead", "a site's head", outside_content=True),
    GenericSelector(".site-footer, #colophon", "a site's foot"),
    # Consent, by the tools that ask for it.
    GenericSelector(".cookie-banner, .cookie-notice, .cookie-consent", "asks for consent"),
    GenericSelector("#cookie-banner, #cookie-notice, #cookie-law-info-bar", "asks for consent"),
    GenericSelector("#onetrust-consent-sdk, #CybotCookiebotDialog, .cc-window", "asks for consent: widespread tools"),
    GenericSelector(".eu-cookie-compliance-banner, #sliding-popup", "asks for consent: Drupal's module"),
    # What sites want of their readers.
    GenericSelector(".social-share, .share-buttons, .addtoany_share_save_container", "sends the page to others"),
    GenericSelector(".social-links, .social-icons", "leads to the site's accounts elsewhere"),
    GenericSelector(".newsletter-signup, .newsletter-form", "asks for an address"),
    GenericSelector(".search-form, #search-form", "searches the site"),
    GenericSelector(".print-link, .back-to-top", "works the page itself"),
    # What other pages say.
    GenericSelector(".related-posts, .jp-relatedposts", "titles of other articles"),
    GenericSelector(".advertisement, .adsbygoogle", "another's words"),
    GenericSelector(".language-switcher, .lang-switcher", "the same page in other languages"),
)


_NAME: Final = r"[A-Za-z_][\w-]*"
_SIMPLE: Final = re.compile(
    rf"""(?:(?P<tag>[a-z][a-z0-9]*)|\.(?P<cls>{_NAME})|#(?P<id>{_NAME})"""
    rf"""|\[(?P<attribute>{_NAME})(?P<ends>\$?)="(?P<value>[^"\\]+)"\])""",
    re.ASCII,
)
# As HTML divides the value of `class`.
_SPACE: Final = re.compile(r"[ \t\n\f\r]+")
_KNOWN: Final = 16_384

Marks = frozenset[int]
_NONE: Final[Marks] = frozenset()


class _Match(NamedTuple):
    marks: Marks
    """Places of the selectors that match."""
    in_doubt: bool
    """Whether a page that is read as those of the nineties are, names in any case, matches more."""


class TagSelectors:
    """Selectors of a tag, a class, an id, or an attribute's value or end; of each of them several, with commas."""

    def __init__(self, selectors: Sequence[str]) -> None:
        """Read selectors.

        Raises:
            ValueError: one needs more than a start tag.
        """
        self._tags: defaultdict[str, set[int]] = defaultdict(set)
        self._names: defaultdict[str, set[int]] = defaultdict(set)
        """By class and id, with "." and "#"."""
        self._values: list[tuple[str, str, bool, int]] = []
        for place, selector in enumerate(selectors):
            for part in selector.split(","):
                self._read(part.strip(), place)
        self._folded: defaultdict[str, set[int]] = defaultdict(set)
        for name, places in self._names.items():
            self._folded[name.lower()] |= places
        self._of_source = lru_cache(maxsize=_KNOWN)(self._match_source)

    def _read(self, part: str, place: int) -> None:
        found = _SIMPLE.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} needs more than a start tag")
        if found["tag"]:
            self._tags[found["tag"]].add(place)
        elif found["attribute"]:
            self._values.append((found["attribute"], found["value"], bool(found["ends"]), place))
        else:
            self._names[part].add(place)

    def marks(self, page: Page) -> list[Marks] | None:
        """Return for each block of a page the selectors that match an element around it, by their place.

        None where tags do not tell: the page may be read with names in any case, or not as it came.
        """
        if page.is_redrawn:
            return None
        around = [self._match(name, attributes) for name, attributes in page.around]
        if any(one.in_doubt for one in around):
            return None
        known: dict[Place, Marks] = {BODY: _NONE.union(*(one.marks for one in around))}
        found: list[Marks] = []
        here = BODY
        for step in page.walk.steps:
            if isinstance(step, Place):
                here = step
            elif isinstance(step, int):
                marks = known.get(here)
                if marks is None:
                    marks = self._around(here, known)
                    if marks is None:
                        return None
                found.append(marks)
        return found

    def _around(self, place: Place, known: dict[Place, Marks]) -> Marks | None:
        """Return what matches a place, or what it stands in, and note it of them all; None where that is in doubt."""
        unknown = []
        while place not in known:
            unknown.append(place)
            place = place.outer or BODY
        marks = known[place]
        for inner in reversed(unknown):
            one = self._of_source(inner.source) if len(inner.source) < LONG_TAG else self._match_source(inner.source)
            if one.in_doubt:
                return None
            marks = known[inner] = marks | one.marks if one.marks else marks
        return marks

    def _match_source(self, source: str) -> _Match:
        name, attributes = name_and_attributes(source)
        found = self._match(name, attributes)
        # A name that holds a quote: who reads on from there may read anything.
        is_odd = source.count('"') != 2 * len(attributes)
        return found._replace(in_doubt=True) if is_odd else found

    def _match(self, tag: str, attributes: Mapping[str, str]) -> _Match:
        marks = set(self._tags.get(tag, ()))
        in_doubt = False
        for name in _names(attributes):
            exact = self._names.get(name, set())
            marks |= exact
            in_doubt |= exact != self._folded.get(name.lower(), set())
        for attribute, value, only_end, place in self._values:
            there = attributes.get(attribute)
            if there is not None and (there.endswith(value) if only_end else there == value):
                marks.add(place)
        return _Match(frozenset(marks), in_doubt)


def _names(attributes: Mapping[str, str]) -> Iterator[str]:
    if classes := attributes.get("class"):
        yield from (f".{name}" for name in _SPACE.split(classes) if name)
    if called := attributes.get("id"):
        yield f"#{called}"
