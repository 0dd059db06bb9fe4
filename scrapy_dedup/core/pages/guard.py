"""What HTML may be parsed at all: every parser is quadratic in something, and pages are hostile.

Every figure is a bound from above that hostile markup cannot talk down: an end tag counts only where it closes what
was opened last, and from where a parser's view of the markup is in doubt, none counts. Ordinary markup gives figures
close to the truth. Rules: HTML Standard, sections 13.2.5 (tokenization) and 13.2.6 (tree construction).
"""

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

FORMATTING = frozenset("b big code em font i nobr s small strike strong tt u".split())

_VOID = frozenset(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr "
    "html head body frameset".split()
)
_RAW = frozenset("title textarea style xmp iframe noembed noframes noscript script plaintext".split())
# In these a parser reads start tags otherwise than in the rest of a page.
_ODD = frozenset("svg math select".split())
_FOREIGN = frozenset("svg math".split())
# In SVG these begin HTML, within it or behind it.
_LEAVES_SVG = frozenset(
    "b big blockquote body br center code dd desc div dl dt em embed font foreignobject h1 h2 h3 h4 h5 h6 head hr i "
    "img li listing math menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)
_CLOSES_P = frozenset(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul "
    "xmp".split()
)
# What else a start tag closes where it stands last.
_CLOSED_BY: dict[str, tuple[frozenset[str], ...]] = {
    **dict.fromkeys(("li", "dd", "dt"), (frozenset({"p"}), frozenset({"li", "dd", "dt"}))),
    **dict.fromkeys(("td", "th"), (frozenset({"td", "th"}),)),
    "tr": (frozenset({"td", "th"}), frozenset({"tr"})),
    **dict.fromkeys(
        ("tbody", "thead", "tfoot"),
        (frozenset({"td", "th"}), frozenset({"tr"}), frozenset({"tbody", "thead", "tfoot"})),
    ),
    **dict.fromkeys(("option", "optgroup"), (frozenset({"option"}),)),
}
# End tags may be left out, and two of one kind never nest without another element between them.
_ENDS_BY_ITSELF = frozenset("p li dd dt option".split())
# What some end tags close besides, where it was left open: so few that markup cannot gain depth by it.
_MOST_SLIPS = 3
_SLIPS = dict.fromkeys(
    "address article aside div dl footer header main nav ol section ul".split(),
    frozenset("a b em font i small span strong u".split()),
) | {"ruby": frozenset({"rt", "rp"}), "table": frozenset("td th tr tbody thead tfoot".split())}

_SPACE = r"\t\n\f\r "
_ATTRIBUTE = (
    rf"[^{_SPACE}/>][^{_SPACE}/>=]*+"
    rf"(?:[{_SPACE}]*+=[{_SPACE}]*+(?:\"[^\"]*+\"?|'[^']*+'?|[^{_SPACE}>\"'][^{_SPACE}>]*+)?)?"
)
_TOKEN = re.compile(
    r"<(?:!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|!\[CDATA\[(?P<cdata>)"
    r"|[!?][^>]*+>?|/(?![a-zA-Z])[^>]*+>?"
    rf"|(?P<end>/?)(?P<name>[a-zA-Z][^{_SPACE}/>]*+)(?P<attributes>(?:[{_SPACE}/]++|{_ATTRIBUTE})*+)>?)",
    re.DOTALL,
)
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
# Of a tag without attributes, beside its name.
_SHORTEST = 3


class UnparsedReason(StrEnum):
    """Why a page is left as it came."""

    TOO_LARGE = "too_large"
    TOO_MANY_ELEMENTS = "too_many_elements"
    TOO_DEEP = "too_deep"
    TOO_MANY_ATTRIBUTES = "too_many_attributes"


class ParseLimits(Struct, frozen=True):
    """What is parsed. Beyond *depth* and *attributes* parse time grows with the square.

    Measured with lexbor: 100,000 nested elements take 14 s, 100,000 attributes on one tag 17 s, 16,000 of either 0.3
    and 0.4 s; 100,000 different names of elements and attributes on a page 1 s, 500,000 129 s. Real pages stay under
    300, 200 and 1,000.
    """

    characters: int = 8_000_000
    elements: int = 80_000
    depth: int = 16_000
    attributes: int = 16_000


# Names on a page, for each attribute that one tag may have; attributes on a page, for each element: 400,000 take
# 110 MB.
_MOST_NAMES = 2
_MOST_ATTRIBUTES = 5
# Each tag may be compared with every element that is open: 150 million comparisons take 0.3 to 0.6 s.
_MOST_COMPARISONS = 150_000_000
# Formatting elements that stay open are cloned into every block that follows: 2,500 times `<b id=1><p>` make three
# million nodes. n tags make at most n²/8 clones, half of them formatting and half blocks: below this, a million.
_FEW_TAGS = 3_000
_MOST_CLONES = 1_000_000
# Spelt out, because ignoring case makes this scan four times as slow.
_FORMATTING_WITH_ATTRIBUTES = re.compile(
    r"<(?:[BbIiSsUu]|[Bb][Ii][Gg]|[Cc][Oo][Dd][Ee]|[Ee][Mm]|[Ff][Oo][Nn][Tt]|[Nn][Oo][Bb][Rr]|[Ss][Mm][Aa][Ll][Ll]"
    r"|[Ss][Tt][Rr](?:[Ii][Kk][Ee]|[Oo][Nn][Gg])|[Tt][Tt])[\t\n\f\r /][^>]*+"
)
# Of one kind (a name with its attributes) a parser keeps three open.
_MOST_OF_A_KIND = 3
_KINDS_WITHOUT_ATTRIBUTES = 14
_LONG = 300
_LONG_TAG = re.compile(rf"<[a-zA-Z/][^>]{{{_LONG},}}+")
_TAG = re.compile(r"<[a-zA-Z/][^>]*+")
_ELEMENT = re.compile(r"<[^\s/>]++")
_LONG_PART = re.compile(rf">[^>]{{{_LONG},}}+")
# From a quote that holds a ">" on: there a tag ends later than at its first ">".
_QUOTED_END = re.compile(r"=\s*+(?:\"[^\">]*+>|'[^'>]*+>)")
_NOT_BEFORE_ATTRIBUTES = bytes(set(range(256)).difference(b" \t\n\f\r/\"'"))
_BETWEEN_ATTRIBUTES = bytes(32 if byte in b" \t\n\f\r/\"'" else 120 for byte in range(256))


_XHTML = re.compile(r"\s*<\?xml\s|[^<]*(?:<[!?][^<>]*>[^<]*)*<html\s[^<>]*xmlns=")
_XHTML_HEAD_CHARS = 2_000
# An element that ends where it begins; scripts and comments are passed over.
_EMPTY_ELEMENT = re.compile(
    r"<script\b[^<>]*+(?<!/)>.*?(?:</script|\Z)|<!--.*?(?:-->|\Z)"
    r"|<([A-Za-z][\w-]*+)((?:\s++[\w:.-]++\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*+)\s*+/>",
    re.DOTALL,
)


def as_html(html: str) -> str:
    """Return XHTML with end tags for elements that end where they begin: HTML would hide a page behind `<title/>`."""
    head = html[:_XHTML_HEAD_CHARS]
    if "xml" not in head or not _XHTML.match(head.lstrip("\ufeff")):
        return html
    return _EMPTY_ELEMENT.sub(_with_end_tag, html)


def _with_end_tag(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if name is None or name.lower() in _VOID else f"<{name}{found[2]}></{name}>"


def refuse(html: str, limits: ParseLimits) -> UnparsedReason | None:
    """Say why this HTML must not be given to a parser; None where it may.

    Costs three passes in C for an ordinary page; the survey is for pages that are large in something.
    """
    if len(html) > limits.characters:
        return UnparsedReason.TOO_LARGE
    html = as_html(html)
    tags = html.count("<")
    if tags > 2 * limits.elements:
        return UnparsedReason.TOO_MANY_ELEMENTS
    if tags <= limits.depth and not _may_clone(html, tags) and not _may_have_attributes(html, tags, limits.attributes):
        return None
    found = survey(html)
    if found.depth > limits.depth or found.depth * tags > _MOST_COMPARISONS or found.formatting * tags > _MOST_CLONES:
        return UnparsedReason.TOO_DEEP
    if (
        found.attribute_work > limits.attributes**2
        or found.attributes > _MOST_ATTRIBUTES * limits.elements
        or len(found.names) > _MOST_NAMES * limits.attributes
    ):
        return UnparsedReason.TOO_MANY_ATTRIBUTES
    return None


def _may_clone(html: str, tags: int) -> bool:
    """Tell whether the formatting elements that can stay open, times all tags, are many."""
    if tags <= _FEW_TAGS:
        return False
    sources = _FORMATTING_WITH_ATTRIBUTES.findall(html)
    # Where a quote is open the ">" belongs to a value, and what tells two tags apart may stand behind it.
    doubtful = sum(1 for source in sources if source.count('"') % 2 or source.count("'") % 2)
    kinds = len(set(sources)) + doubtful + _KINDS_WITHOUT_ATTRIBUTES
    return _MOST_OF_A_KIND * kinds * tags > _MOST_CLONES


def _may_have_attributes(html: str, in_all: int, most: int) -> bool:
    """Tell whether this many tags can have so many attributes; each takes two characters at least (`a b`).

    A tag ends at its first ">" unless that stands in a quoted value. Where some do, all that stands between two ">"
    may be part of one tag.
    """
    most_names = _MOST_NAMES * most
    begun_in_all = _most_begun(html) if len(html) > 3 * most else 0
    # Most pages have fewer in all than one tag may have.
    if begun_in_all <= most and begun_in_all + in_all <= most_names:
        return False
    quoted_ends = len(_QUOTED_END.findall(html))
    # A page has few of what stands before them, or its tags have.
    if begun_in_all > most_names:
        if quoted_ends:
            return True
        source = "".join(_TAG.findall(html))
        begun, elements = _most_begun(source), source.count("<")
        if begun + elements > most_names and begun + len(set(_ELEMENT.findall(source))) > most_names:
            return True
    if not quoted_ends:
        tags = _LONG_TAG.findall(html)
        # Most tags are too short to be looked into.
        if sum((len(tag) // 2) ** 2 for tag in tags) <= most**2:
            return False
        return sum(len(_ONE_ATTRIBUTE.findall(tag)) ** 2 for tag in tags) > most**2
    in_long_parts = sum(map(_attributes, _LONG_PART.findall(f">{html}")))
    return in_long_parts + quoted_ends * _LONG // 2 > most


def _most_begun(part: str) -> int:
    """Return how many attributes begin at most: each after white space, a slash, or the second quote of a value."""
    before = part.encode("utf-8", "surrogatepass").translate(None, _NOT_BEFORE_ATTRIBUTES)
    quotes = before.count(b'"'), before.count(b"'")
    return len(before) - sum(number // 2 for number in quotes)


def _attributes(part: str) -> int:
    """Return how many runs of what may stand before an attribute there are."""
    return f">{part}".encode("utf-8", "surrogatepass").translate(_BETWEEN_ATTRIBUTES).count(b"x ")


class MarkupSurvey(Struct):
    """Bounds of what a parser will meet."""

    depth: int = 0
    """The most elements that are open at once; the true depth is at most four times this."""
    formatting: int = 0
    """The most formatting elements that can be open at once."""
    attribute_work: int = 0
    """The sum over all tags of their attributes, squared."""
    attributes: int = 0
    """Of all tags."""
    names: set[str] = field(default_factory=set)
    """Of elements and attributes."""


def survey(html: str) -> MarkupSurvey:
    """Return bounds for a page; takes one or two microseconds a tag."""
    surveyor = _Surveyor(html)
    surveyor.run()
    return surveyor.found


class _Surveyor:
    def __init__(self, html: str) -> None:
        self.html = html
        self.found = MarkupSurvey()
        self.open: list[str] = []
        self.odd = 0
        self.foreign = 0
        self.in_plain_svg = False
        self.in_doubt = False
        self.unclosed_formatting = 0
        self.kinds_of_formatting: set[str] = set()
        self.merged_attributes = 0
        self.attributes_of: dict[str, int] = {}
        """How many attributes each tag of the page has, which is read once."""

    def run(self) -> None:
        """Take in all tags, in order."""
        position = 0
        while match := _TOKEN.search(self.html, position):
            position = match.end()
            name = (match["name"] or "").lower()
            if match["cdata"] is not None:
                position = self._after_cdata(position)
            elif not name:
                continue
            else:
                self._count_attributes(name, match[0])
                if match["end"]:
                    self._end(name)
                elif name in _RAW:
                    position = self._after_raw(name, position)
                else:
                    self._start(name, match[0])
        self.found.attribute_work += self.merged_attributes**2
        # A parser keeps at most three of one kind, and a kind is a name with its attributes.
        self.found.formatting = min(self.found.formatting, 3 * len(self.kinds_of_formatting))

    def _count_attributes(self, name: str, source: str) -> None:
        self.found.names.add(name)
        if len(source) <= len(name) + _SHORTEST:
            return
        count = self.attributes_of.get(source)
        if count is None:
            # The first is the tag's own name.
            found = _ONE_ATTRIBUTE.findall(source)[1:]
            count = self.attributes_of[source] = len(found)
            self.found.names.update(one.partition("=")[0].strip().lower() for one in found)
        self.found.attributes += count
        if name in ("html", "body"):
            # All of a page's are merged into one element.
            self.merged_attributes += count
        else:
            self.found.attribute_work += count**2

    def _start(self, name: str, source: str) -> None:
        if self.foreign:
            if name in _LEAVES_SVG:
                self.in_plain_svg = False
            elif self.in_plain_svg and source.endswith("/>"):
                return
        else:
            self._close_before(name)
            if name in _VOID:
                return
        if name in _ODD:
            self.in_plain_svg = name == "svg" and not self.odd
            self.odd += 1
            self.foreign += name in _FOREIGN
        self.open.append(name)
        self.found.depth = max(self.found.depth, len(self.open))
        if name in FORMATTING:
            self.kinds_of_formatting.add(source)
            self.unclosed_formatting += 1
            self.found.formatting = max(self.found.formatting, self.unclosed_formatting)

    def _close_before(self, name: str) -> None:
        """Close what a start tag closes, where nothing is open in it."""
        if self.in_doubt:
            return
        if name in _CLOSES_P and self.open and self.open[-1] == "p":
            self.open.pop()
        for closed in _CLOSED_BY.get(name, ()):
            if self.open and self.open[-1] in closed:
                self.open.pop()

    def _end(self, name: str) -> None:
        if self.in_doubt:
            return
        last = self._last(name)
        if last < 0:
            self.in_plain_svg = False
            return
        del self.open[last:]
        if name in _ODD:
            self.odd -= 1
            self.foreign -= name in _FOREIGN
            self.in_plain_svg = False
        elif name in FORMATTING:
            self.unclosed_formatting -= 1

    def _last(self, name: str) -> int:
        """Return the place of the element that an end tag closes, -1 where that is not certain."""
        slips = 0
        for place in range(len(self.open) - 1, -1, -1):
            passed = self.open[place]
            if passed == name:
                return place
            if self.foreign:
                break
            if passed not in _ENDS_BY_ITSELF:
                slips += 1
                if slips > _MOST_SLIPS or passed not in _SLIPS.get(name, ()):
                    break
        return -1

    def _after_raw(self, name: str, position: int) -> int:
        """Return where to go on after the start tag of an element whose text is no markup: behind its end tag."""
        closing = None
        if name != "plaintext":
            closing = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE).search(self.html, position)
        start = closing.start() if closing else len(self.html)
        text = self.html[position:start]
        if self.odd and "<" in text:
            # Here it may be an element like any other.
            self.in_doubt = True
            self.open.append(name)
            return position
        if name == "script" and _hides_its_end(text):
            self.in_doubt = True
        end_tag = _TOKEN.match(self.html, start)
        return end_tag.end() if end_tag else start

    def _after_cdata(self, position: int) -> int:
        """Return where to go on after `<![CDATA[`, which is a section in SVG and else a comment up to ">"."""
        if not self.odd:
            return (self.html.find(">", position) + 1) or len(self.html)
        end = self.html.find("]]>", position)
        if end < 0 or "<" in self.html[position:end] or ">" in self.html[position:end]:
            self.in_doubt = True
            return position
        return end + 3


def _hides_its_end(script: str) -> bool:
    """Tell whether `</script>` may be part of this script: behind `<!--` and `<script`."""
    comment = script.rfind("<!--")
    return comment > script.rfind("-->") and "<script" in script[comment:].lower()


_PDF_MARK: Final = b"%PDF-"
# Readers look so far into a file for its mark: some servers put a line before it.
_MARK_WITHIN: Final = 1_024


def is_pdf(content_type: str, body: bytes) -> bool:
    """Say whether a body is a PDF file: by its mark, whatever its type, unless that is a text's."""
    media_type = content_type.partition(";")[0].strip().lower()
    return "html" not in media_type and _PDF_MARK in body[:_MARK_WITHIN]
