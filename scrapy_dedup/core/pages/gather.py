"""The blocks of one body, gathered from serialised HTML in one pass; formulas as text, once each.

MathML holds a formula as elements and as TeX, and a drawing for the eye stands beside it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from itertools import dropwhile, groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from msgspec import Struct

from scrapy_dedup.core.pages.fingerprints import fingerprint_of
from scrapy_dedup.core.pages.tags import (
    BODY,
    CURRENCY,
    INLINE,
    LITERAL,
    LONG_TAG,
    RAW,
    UNSEEN,
    VOID,
    Place,
    Role,
    Tag,
    Token,
    forget_many,
    known_tag,
    name_and_attributes,
    plain,
    read_tag,
)

# What else is inline is raised, lowered, code, or a part of a word.
_NAMES: Final = frozenset("a b big bdi cite del em font i ins label mark s small span strike strong time u".split())
_TAG: Final = rf"/?(?:{'|'.join(sorted(_NAMES))})(?:\s[^>]*+)?+>|>|/>"
_SIGNS: Final = "$\u00a2-\u00a5\u20a0-\u20cf"
# Looked for in all texts: it begins with what is rare.
_JOINT: Final = re.compile(rf"<(?<=[^\W_]<|[{_SIGNS}]<)(?:{_TAG})(?:<(?:{_TAG}))*+(?=[^\W_]|[{_SIGNS}]\s?\d)")
# Within these every character is meant as it stands.
_LITERAL: Final = re.compile("<(?:code|kbd|samp|var)[ >]")
_INLINE_TAGS: Final = re.compile("<([^>]*+)>")
_FIRST: Final = re.compile(rf"[^\W_]{{1,3}}|[{_SIGNS}](?=\s?\d)")
_LAST: Final = re.compile(rf"(?:[^\W_]{{1,3}}|[{_SIGNS}])\Z")
# Exporters of office programs number their classes, which say nothing.
_TELLING: Final = re.compile("[a-z]{3}", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d+")
# Beside any other element, too, one of these is a thing of its own.
_THINGS: Final = frozenset({"a", "label", "time"})
# Without attributes these stress a part: no word of 13,571 real pages is plainly set apart where one begins or ends.
# Bold type ends where a heading runs into its text.
_LIGHTLY: Final = frozenset({"del", "em", "i", "ins", "mark", "u"})
_STRESSED: Final = _LIGHTLY | {"b", "strong"}


def apart(source: str) -> str:
    """Return serialised text with a blank where inline elements meet that hold words or numbers of their own.

    That is where capitals follow small letters, where letters and numbers meet, and where two links or elements of two
    classes do. A word of which a part is stressed stays one.
    """
    if _JOINT.search(source) is None or _LITERAL.search(source):
        return source
    bits = _INLINE_TAGS.split(source)
    opened: list[str] = []
    # The last text; what ended and began since then, outermost, and behind which text a blank would stand. What both
    # began and ended since then holds nothing.
    last = ended = begun = ""
    gap = outside = 0
    for place, bit in enumerate(bits):
        if place % 2 == 0:
            if bit:
                if last and _are_two(last, bit, ended, begun):
                    bits[gap] = f" {bit}" if gap == place else f"{bits[gap]} "
                last, ended, begun, gap = bit, "", "", place
            continue
        name = bit.strip("/").partition(" ")[0]
        if name in VOID or (name and name not in _NAMES):
            last = ""
        if bit[:1] == "/":
            closed = opened.pop() if opened and name else ""
            if begun and len(opened) >= outside:
                begun = begun if len(opened) > outside else ""
            elif name:
                ended, gap = closed or name, place + 1
        elif name and name not in VOID:
            if not begun:
                begun, outside = bit, len(opened)
            opened.append(bit)
    return "".join(bit if place % 2 == 0 else f"<{bit}>" for place, bit in enumerate(bits))


def _are_two(before: str, behind: str, ended: str, begun: str) -> bool:
    """Tell whether what stands before a joint and behind it are two words."""
    one, other = _LAST.search(before[-3:]), _FIRST.match(behind[:4])
    if one is None or other is None or not (ended or begun):
        return False
    end, begin = one[0][-1], other[0][0]
    is_word = len(one[0]) > 1
    if not (end.isalnum() and begin.isalnum()):
        return end.isalnum() or begin.isalpha()
    if (not ended and begun in _STRESSED) or (not begun and ended in _LIGHTLY):
        return False
    if begin.isupper() and (end.isdigit() or end.islower() or (ended and begun and end.isupper())):
        return len(other[0]) > 1 and (is_word or end.isdigit())
    if begin.isdigit() and end.isalpha():
        # A note's number is part of the text that it stands in.
        return is_word and (bool(ended) or not begun.startswith("a "))
    is_number = begin.isdigit() and (is_word or len(other[0]) > 1)
    return bool(ended and begun) and (is_number or ((is_word or end.isdigit()) and _differ(ended, begun)))


def _differ(ended: str, begun: str) -> bool:
    """Tell whether two elements are two links, or of two classes."""
    (one, attributes), (other, others) = name_and_attributes(ended), name_and_attributes(begun)
    if one != other:
        return one in _THINGS or other in _THINGS
    if one == "a":
        return attributes.get("href") != others.get("href")
    classes = [_DIGITS.sub("", given.get("class", "")) for given in (attributes, others)]
    return classes[0] != classes[1] and all(map(_TELLING.search, classes))


_TEX = re.compile(
    r'<annotation [^<>]{0,300}?encoding="(?:application/x-tex|tex|latex)"[^<>]{0,300}>([^<]*)<', re.IGNORECASE
)
_ELSE = re.compile(r"<annotation(?:-xml)?[ >].*\Z", re.DOTALL)
_TAGS = re.compile(r"<[^>]*>")
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)\s*+(?:<[^>]*+>\s*+)++(?=\d)")
# What scripts, styles and comments say of formulas and elements is none.
_SAID = r"<!--.*?(?:-->|\Z)|<(script|style|noscript|textarea|iframe|xmp|noembed|noframes)[ >].*?(?:</\1>|\Z)"
_FORMULA = re.compile(rf"{_SAID}|(<math[ >].*?)(?:</math>|\Z)", re.DOTALL)
_STYLE = re.compile(r"\s*\{\\displaystyle\s+(.*)\}\s*", re.DOTALL)
# What is shown in place of the formula to those who can see, and said to be nothing for those who hear.
_DRAWING = re.compile(r'((?:</span>){0,3}+)<span [^<>]{0,300}?aria-hidden="true"[^<>]{0,300}>')
_PART = re.compile(rf"{_SAID}|<(/?)(?:span|div)[ >]", re.DOTALL)
_DEEPER: Final = {None: 0, "": 1, "/": -1}
# Drawings of which no end is found, as in plain text: each is looked for to the body's end.
_MOST_WITHOUT_END: Final = 3


def with_formulas_as_text(body: str) -> str:
    """Return a serialised body in which each `math` element is its TeX, or else its text, without a second drawing."""
    return "".join(_parts(body)) if "<math" in body else body


def _parts(body: str) -> Iterator[str]:
    at, tries = 0, _MOST_WITHOUT_END
    for found in _FORMULA.finditer(body):
        if found[2] is None or found.start() < at:
            continue
        yield body[at : found.start()]
        yield _text(found[2])
        at = found.end()
        if tries and (drawing := _DRAWING.match(body, at)):
            yield drawing[1]
            at = _after(body, drawing.end())
            tries -= at == drawing.end()
    yield body[at:]


def _text(formula: str) -> str:
    tex = _TEX.search(formula)
    if tex and tex[1].strip():
        styled = _STYLE.fullmatch(tex[1])
        return (styled[1] if styled else tex[1]).strip()
    # "1" over "2" is not twelve.
    return _TAGS.sub("", _BETWEEN_NUMBERS.sub(" ", _ELSE.sub("", formula)))


def _after(body: str, at: int) -> int:
    """Return where an element ends whose start tag ended at a place; that place where no end is found."""
    depth = 1
    for part in _PART.finditer(body, at):
        depth += _DEEPER[part[2]]
        if not depth:
            return body.index(">", part.start()) + 1
    return at


# An element that spans blocks is drawn in each of them; a page has this many at once.
MOST_MARKS = 8
TAGS = re.compile(r"<([^>]*+)>?")
"""Divides a text with inline tags: text, tag, text, ..., tag, text."""
_BR = Tag("br")


# What elements that span blocks add to a page, in characters.
_MOST_REPEATED_CHARS = 1_000_000
# Beyond so many characters of tags (a picture inside its address) a block's source is not kept.
_LONG_SOURCE = 2_000
# The text of `<br>`; no other text is this object.
_LINE_END = "\r\n"
# Stands where a comment or an element that is not seen stood within a text: tags that mean nothing.
_NOTHING = "<></>"


class Marks(NamedTuple):
    """Inline elements that are open where a block begins."""

    tags: tuple[Tag, ...] = ()
    """Those to draw in it."""
    depth: int = 0


NO_MARKS = Marks()


# A page has hundreds, and none is part of a cycle: the garbage collector need not look at them.
class Block(Struct, eq=False, gc=False):
    """The smallest piece of visible text with a DOM path; as it is found, its pieces are made when first asked for."""

    path: str
    """Steps from body, as `body>div#page>ul.menu>li`; volatile classes and digits are masked."""
    text: str
    """White space folded, except within `pre`."""
    fingerprint: int
    """64 bits of path and text."""
    _link_chars: int | None = None
    _pieces: tuple[str | Tag, ...] | None = None
    _source: str = ""
    """Its serialised HTML with no tags but inline ones, until there are pieces."""
    _marks: Marks = NO_MARKS

    @property
    def pieces(self) -> tuple[str | Tag, ...]:
        """The text as it stood, escaped for HTML, between its inline tags."""
        # In this order: another thread that made them lets the source go afterwards.
        source, pieces = self._source, self._pieces
        if pieces is None:
            pieces = self._pieces = _pieces(source, self._marks)
            self._source = ""
        return pieces

    @property
    def link_chars(self) -> int:
        """How many characters of *text* stand in links."""
        if self._link_chars is None:
            self._link_chars = _link_chars(self.pieces, self.text)
        return self._link_chars

    @property
    def unread(self) -> str | None:
        """Its serialised HTML, where no pieces were made of it yet; attributes have double quotes there.

        Most of what is asked can be told by it.
        """
        return None if self._marks.tags else self._source or None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self._values() == other._values()

    def __hash__(self) -> int:
        return self.fingerprint

    def __repr__(self) -> str:
        return f"Block{self._values()!r}"

    def __reduce__(self) -> tuple[type["Block"], tuple[object, ...]]:
        return Block, self._values()

    def _values(self) -> tuple[str, str, int, int, tuple[str | Tag, ...]]:
        return self.path, self.text, self.fingerprint, self.link_chars, self.pieces


def links_of(blocks: Iterable[Block]) -> list[tuple[int, int, int]]:
    """Return of each block its characters in links, in those to its own page, and in those to hosts that are named.

    The first link of a block speaks for all.
    """
    found = []
    for block in blocks:
        source = block.unread
        # No pieces need be made to see the links of most blocks.
        if source is not None and "<a" not in source:
            found.append(_NOWHERE)
            continue
        links = _links_in(source) if source is not None else []
        if linked := len(" ".join(plain(TAGS.sub("", "".join([text for _, text in links]))).split())):
            start = links[0][0]
            # Most begin so, and each leads elsewhere: to read them all would take longer than the rest.
            href = start.removeprefix(_HREF) if start.startswith(_HREF) else _leads_to(inline_token(start).tag)
        elif linked := block.link_chars:
            starts = (piece for piece in block.pieces if type(piece) is Tag and piece.name == "a" and not piece.closing)
            href = _leads_to(next(starts, _NO_LINK))
        else:
            found.append(_NOWHERE)
            continue
        within = linked if href.startswith("#") else 0
        found.append((linked, within, linked if href.startswith(("http:", "https:", "//")) else 0))
    return found


def _links_in(source: str) -> list[tuple[str, str]]:
    """Return tag and content of each link in a block's source; none where its pieces must be made to see them."""
    links = _LINK.findall(source)
    is_plain = (
        len(links) == source.count("</a>") == source.count("<a ") + source.count("<a>")
        and source.count("<") - source.count("</") <= MOST_MARKS
        and all([text.count("<") == 2 * text.count("</") for _, text in links])  # noqa: C419 (twice as fast)
    )
    return links if is_plain else []


_LINK: Final = re.compile(r"<(a(?: [^>]*+)?+)>((?:[^<]++|<(?!/a>))*+)</a>")
_NOWHERE: Final = (0, 0, 0)
_NO_LINK: Final = Tag("a")
_HREF: Final = 'a href="'


def _leads_to(link: Tag) -> str:
    return dict(link.attributes).get("href", "")


def inline_token(source: str) -> Token:
    """Return what a tag of a block's source means."""
    return known_tag(source) if len(source) < LONG_TAG else read_tag(source)


_CONTROLS = frozenset(("select", "textarea", "button"))
# Attributes of a button that shows and hides what follows it, and not a menu.
_UNFOLDS = re.compile(r"""\s(?:aria-expanded=|data-(?:bs-)?toggle="collapse")""")
# A blank between them may be written as `&nbsp;`.
_PRICE = re.compile(rf"{CURRENCY}.{{0,6}}\d|\d.{{0,6}}{CURRENCY}", re.IGNORECASE)
RAISED = re.compile(r"(?<=\d)<sup(?: [^>]*+)?>(?=(?:<[^>]*+>)*+\d)")
"""Where digits are raised behind digits: without the element 10\u2076 would read as 106."""
# Looked up once: the loop below runs for every inline tag of a page.
_MARK, _MARK_END, _BREAK, _IMAGE = int(Role.MARK), int(Role.MARK_END), int(Role.BREAK), int(Role.IMAGE)


def _pieces(source: str, marks: Marks) -> tuple[str | Tag, ...]:
    if "<" not in source and not marks.tags:
        return (source,)
    pieces: list[str | Tag] = list(marks.tags)
    depth, begun = marks.depth, False
    for place, bit in enumerate(TAGS.split(source)):
        if place % 2 == 0:
            if bit and (begun or not bit.isspace()):
                pieces.append(bit)
                begun = True
            continue
        role, tag, *_ = inline_token(bit)
        if role == _MARK:
            depth += 1
            if depth > MOST_MARKS:
                continue
        elif role == _MARK_END and depth:
            depth -= 1
            if depth >= MOST_MARKS:
                continue
        elif role == _BREAK:
            begun = True
        elif role != _IMAGE:
            continue
        pieces.append(tag)
    while pieces[-1] == _BR:
        pieces.pop()
    return tuple(pieces)


def _link_chars(pieces: tuple[str | Tag, ...], text: str) -> int:
    """Return how many characters of a block's text stand between the tags of links."""
    if len(pieces) == 1:
        return 0
    if len(pieces) == 3 and type(pieces[0]) is Tag and pieces[0].name == "a":
        return len(" ".join(text.split()))
    inside = False
    texts: list[str] = []
    for piece in pieces:
        if type(piece) is str:
            if inside:
                texts.append(piece)
        elif piece[0] == "a":
            inside = not piece[2]
    return len(" ".join(plain("".join(texts)).split())) if texts else 0


def _either(names: Iterable[str]) -> str:
    """Return a pattern for names, by first letter: each is tried at every tag of a page."""
    letters = groupby(sorted(names), itemgetter(0))
    return "|".join(f"{letter}(?:{'|'.join(name[1:] for name in group)})" for letter, group in letters)


def _up_to_end_tag(name: str) -> str:
    return rf"{name}(?: [^>]*+)?+>(?:[^<]++|<(?!/{name}>))*+(?:</{name}(?=>)|\Z)"


# Divides a serialised body at all tags but inline ones: text, tag, text, ..., tag, text. Comments, scripts and the like
# are one tag each, that is None. Possessive throughout: no character is looked at more than a few times.
_BOUNDARIES = re.compile(
    r"<(?:!--(?:[^-]++|-(?!->))*+(?:-->|\Z)|(?:"
    + "|".join(map(_up_to_end_tag, sorted(RAW - LITERAL)))
    + rf")(?:>|\Z)|(?!/?(?:{_either(INLINE)})[ />])("
    + "|".join(map(_up_to_end_tag, sorted(LITERAL)))
    + r"|[^>]*+)(?:>|\Z))"
)
# Of a style: text has no ">" of its own.
_HIDES = re.compile(r'!\s*+important(?=[^<>"]{0,500}"[^<>]{0,500}>)', re.IGNORECASE)
# Notes to machines and traps for them are short; scripts may show what is longer.
_MOST_UNSHOWN = 500
_LONE = re.compile(rf"<({_either(INLINE & VOID)})[ />]")
_BLANK_LINE = re.compile(r"<br(?: [^>]*+)?+>(?:\s++|&nbsp;|<(?!br[ >])[^>]*+>)*+<br[ >]")


class Gatherer:
    """Gathers the blocks of one body from what lexbor has serialised: outside raw text, "<" and ">" bound tags alone.

    End tags need not match start tags: foreign elements can hold text that is read as tags when it is serialised.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.walk: list[Place | int | Tag] = [BODY]
        """Where each boundary led, in order; between them indexes into *blocks*, and pictures without text."""
        # Parts of a text before what is not seen.
        self.held: list[str] = []
        self.open_marks: list[Tag] = []
        # Other inline elements that are open.
        self.others = 0
        self.repeated_chars = 0
        self.controls: Counter[str] = Counter()
        """Fields and buttons, by the path on which they stand."""
        # Of what is never shown.
        self.unshown_chars = 0

    def over(self, source: str) -> None:
        """Take in the whole body; what its styles never show only where that is much, or most of the text."""
        self._over(source)
        if self.unshown_chars > _MOST_UNSHOWN or (
            self.unshown_chars and self.unshown_chars > sum([len(block.text) for block in self.blocks])
        ):
            whole = Gatherer()
            whole._over(_HIDES.sub("", source))
            vars(self).update(vars(whole))

    def _over(self, source: str) -> None:
        forget_many()
        walk, held = self.walk, self.held
        here = BODY
        bits = iter(_BOUNDARIES.split(with_formulas_as_text(source)))
        text = next(bits)
        pairs = zip(bits, bits, strict=True)
        for tag, behind in pairs:
            place = here.after.get(tag) or (here.past(tag) if tag else None)
            if place is None:
                if text and (held or not text.isspace()):
                    held.append(text)
                text = self._behind(here, tag, behind, pairs) if tag else behind
                continue
            if held or (text and not text.isspace()):
                self._take(here, text)
            if place is here and tag[:5] == "input":
                self.controls[here.path] += 1
            walk.append(place)
            here = place
            text = behind
        self._take(here, text)

    def _behind(self, here: Place, tag: str, behind: str, pairs: Iterator[tuple[Any, ...]]) -> str:
        """Return the text after a tag that is no boundary, or after an element that is not seen."""
        start, is_literal, text = tag.partition(">")
        token = read_tag(start)
        if is_literal:
            self._take(here, "")
            literal = here.child(token._replace(tag=Tag("pre"), drawn=True))
            literal.source = start
            self.walk.append(literal)
            self._take(literal, escape(text.removesuffix(f"</{token.tag.name}"), quote=False))
            self.walk.append(here)
            return behind
        if token.tag.name in _CONTROLS:
            self.controls[here.path] += 1
        if token.role is not Role.UNSEEN or _is_read(token.tag.name, start, behind, here):
            return behind
        text, chars = _after_element(token.tag.name, pairs)
        if token.tag.name not in UNSEEN:
            self.unshown_chars += chars + len(behind)
        return text

    def _take(self, here: Place, text: str) -> None:
        """Take in what stands between two boundaries: one block or none; blank lines divide it into several."""
        if self.held:
            text = _NOTHING.join([*self.held, text])
            self.held.clear()
        if "<" in text:
            text = text if here.in_pre else apart(text)
            raw = None if self.open_marks or self.others else _without_tags(text, in_pre=here.in_pre)
            if raw is None:
                self._by_tags(here, text)
                return
        else:
            raw = text
        self._add(here, plain(raw) if "&" in raw else raw, text, self._marks() if self.open_marks else NO_MARKS)

    def _add(self, here: Place, raw: str, source: str, marks: Marks) -> None:
        """Add a block, where there is text."""
        text = " ".join(raw.split())
        if text:
            self.walk.append(len(self.blocks))
            shown = raw.strip("\r\n") if here.in_pre else text
            # Most have no tags: one text in memory instead of two.
            source = shown if source == shown else source
            block = Block(here.path, shown, fingerprint_of(here.path, text), None, None, source, marks)
            self.blocks.append(block)
            if len(source) > len(raw) + _LONG_SOURCE:
                # They take less.
                _ = block.pieces
        elif "<img" in source:
            tokens = (inline_token(tag) for tag in TAGS.findall(source))
            self.walk += [token.tag for token in tokens if token.role is Role.IMAGE]

    def _by_tags(self, here: Place, text: str) -> None:
        """Take in a text with blank lines, or with elements that do not both begin and end in it."""
        bits = TAGS.split(text)
        begin, marks = 0, self._marks()
        raw: list[str] = []
        for place, bit in enumerate(bits):
            if place % 2 == 0:
                if bit and (raw or not bit.isspace()):
                    raw.append(bit)
            elif inline_token(bit).role is not Role.BREAK:
                self._mark(bit)
            elif here.in_pre:
                raw.append("\n")
            elif _ends_in_break(raw):
                self._add(here, plain("".join(raw)), _source(bits, begin, place), marks)
                begin, marks = place + 1, self._marks()
                raw.clear()
            else:
                raw.append(_LINE_END)
        self._add(here, plain("".join(raw)), _source(bits, begin, len(bits)), marks)

    def _mark(self, source: str) -> None:
        """Keep account of which inline elements are open."""
        role, tag, *_ = inline_token(source)
        if role is Role.MARK:
            self.open_marks.append(tag)
        elif role is Role.MARK_END:
            del self.open_marks[-1:]
        elif tag.name in INLINE and tag.name not in VOID:
            self.others = max(0, self.others + (-1 if tag.closing else 1))

    def _marks(self) -> Marks:
        """Return the elements that span blocks: each is drawn in all of them, `<a><p>one</p><p>two</p></a>`."""
        if not self.open_marks:
            return NO_MARKS
        marks = tuple(self.open_marks[:MOST_MARKS])
        self.repeated_chars += sum(len(value) for mark in marks for _, value in mark.attributes)
        return Marks(marks if self.repeated_chars < _MOST_REPEATED_CHARS else (), len(self.open_marks))


def _without_tags(source: str, *, in_pre: bool) -> str | None:
    """Return a text without its tags; None where it must be looked at tag by tag.

    Where no inline element is open before it, as many end tags as start tags leave none open: what lexbor serialises is
    a tree.
    """
    if lone := source.count("<") - 2 * source.count("</"):
        names = _LONE.findall(source)
        if len(names) != lone or ("br" in names and (in_pre or _BLANK_LINE.search(source))):
            return None
        source = source.replace("<br", " <br")
    if not in_pre:
        return TAGS.sub("", RAISED.sub("^", source) if "<sup" in source else source)
    # White space before the first word of code is its indentation only where no tag stands between.
    return "".join(dropwhile(_is_blank, TAGS.split(source)[::2]))


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _is_read(name: str, start: str, text: str, here: Place) -> bool:
    """Whether what else is no text in place is read: the questions of an accordion, a price on a button, a shadow tree.

    Other labels of controls are not.
    """
    if name == "button":
        unfolds = _UNFOLDS.search(start) and " aria-haspopup=" not in start
        return here.in_heading or bool(unfolds or _PRICE.search(text))
    return name == "template" and " shadowrootmode=" in start


def _ends_in_break(texts: list[str]) -> bool:
    for text in reversed(texts):
        if text is _LINE_END:
            return True
        if plain(text).strip():
            break
    return False


def _source(bits: list[str], begin: int, end: int) -> str:
    """Return texts and tags as they stood; *begin* is the place of a text."""
    return "".join(bit if place % 2 == 0 else f"<{bit}>" for place, bit in enumerate(bits[begin:end]))


def _after_element(name: str, pairs: Iterator[tuple[Any, ...]]) -> tuple[str, int]:
    """Return the text after an element, and the characters that it skips; elements of its name in it are counted."""
    start, end, depth, chars = f"{name} ", f"/{name}", 1, 0
    for tag, text in pairs:
        if tag == end:
            depth -= 1
            if not depth:
                return str(text), chars
        elif tag and (tag == name or tag.startswith(start)):
            depth += 1
        chars += len(text)
    return "", chars
