"""What a page says about itself, taken from its tree: meta elements, JSON-LD, marked times and names."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Final

import re2
from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

# Directives that have a value of their own; before any other colon stands the name of one crawler.
_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_MOST_CHARS: Final = 10_000

# ISO 639-1, all 183 of it; `no` is kept beside `nb` and `nn`.
CODES: Final = frozenset(
    (
        "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv "
        "dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie "
        "ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv "
        "mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm "
        "rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts "
        "tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
    ).split()
)
_TAG: Final = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_].*)?\s*", re.DOTALL)
# Written before 1989, or as one of two written forms.
_SAME: Final = {"iw": "he", "in": "id", "ji": "yi", "nob": "nb", "nno": "nn"}


class Directives(Struct, frozen=True):
    """What a page asks of every crawler."""

    noindex: bool = False
    """Its content is not to be kept."""
    nofollow: bool = False
    """Its links are not to be followed."""

    @property
    def names(self) -> list[str]:
        """The directives that are set."""
        return [name for name in ("noindex", "nofollow") if getattr(self, name)]


def read_directives(metas: Iterable[str] = (), headers: Iterable[str] = ()) -> Directives:
    """Return what `meta name=robots` and X-Robots-Tag ask of all crawlers; what is asked of one by name is for it."""
    words = {word for meta in metas for word in _words(meta)}
    for header in headers:
        first, colon, _ = header.partition(":")
        # "googlebot: noindex, nofollow"; but "noindex, unavailable_after: 25 Jun 2030" is for all.
        is_for_one = bool(colon) and "," not in first and first.strip().lower() not in _WITH_VALUE
        words.update(() if is_for_one else _words(header))
    everything = "none" in words
    return Directives(noindex=everything or "noindex" in words, nofollow=everything or "nofollow" in words)


def _words(text: str) -> list[str]:
    return [word.strip().lower() for word in text[:_MOST_CHARS].split(",")]


# Real pages stay below all of these; what is beyond is not read.
_MOST_METAS: Final = 200
_MOST_MARKS: Final = 30
_MOST_SCRIPTS: Final = 20
_MOST_SCRIPT_CHARS: Final = 500_000
_MOST_CONTENT_CHARS: Final = 1_000


class Declared(Struct, frozen=True):
    """Everything as it stood; nothing is interpreted."""

    metas: tuple[tuple[str, str], ...] = ()
    """(lower-case `property`, `name` or `itemprop`, `content`) of each meta element in head."""
    json_ld: tuple[str, ...] = ()
    """The text of each script of JSON-LD."""
    times: tuple[tuple[str, str], ...] = ()
    """(`datetime`, text) of each `time` element; either may be empty."""
    marks: tuple[tuple[str, str], ...] = ()
    """(`itemprop` or "rel", value) of the elements that are marked as author or as day of publication."""
    days: tuple[str, ...] = ()
    """What scripts hold under names that mean the day of publication."""


_Pairs = tuple[tuple[str, str], ...]
# What must stand in the HTML for a selector to be worth its walk over the tree.
_JSON_LD: Final = ("ld+json", "script[type='application/ld+json']")
_TIME: Final = ("<time", "time")
_ITEMPROP: Final = ("itemprop", "[itemprop~=author], [itemprop~=datePublished], [itemprop~=dateCreated]")
_REL: Final = ("author", "[rel~=author]")
# What such names hold in scripts.
_DAY_NAMES: Final = ("ublish", "ublication", "ub_date", "ubDate", "ost_date", "ostDate")
_NAMED_DAY: Final = re.compile(
    r"""\w*(?:\\*["']|&quot;)?\s*[:=]\s*(?:\\*["']|&quot;)(\d{4}-\d\d-\d\d[\w:.+ -]{0,20})"""
)
_OTHER_DAY: Final = re.compile(r"(?:last|planned|next|un|update|modif)\w*$", re.IGNORECASE)
_NAME_CHARS: Final = 24
_DAY_CHARS: Final = 80
_MOST_DAYS: Final = 30


# A search for each takes three times as long.
_TOKENS: Final = (*(token for token, _ in (_JSON_LD, _TIME, _ITEMPROP, _REL)), *_DAY_NAMES)


@cache
def _any_token() -> re2.Set:
    found = re2.Set.SearchSet()
    for token in _TOKENS:
        found.Add(re2.escape(token))
    found.Compile()
    return found


def _tokens_in(html: str) -> frozenset[str]:
    """Return which of the tokens stand in HTML."""
    return frozenset(_TOKENS[at] for at in _any_token().Match(html.encode("utf-8", "surrogatepass")) or ())


def read_declared(tree: LexborHTMLParser, html: str) -> Declared:
    """Return what a page declares; bounded in number and length of everything that is read."""
    tokens = _tokens_in(html)
    times, marks = _read_marks(tree, tokens)
    metas = tuple(islice(_metas(tree), _MOST_METAS))
    return Declared(metas, tuple(_scripts(tree, tokens)), times, marks, tuple(_named_days(html, tokens)))


def read_marks(tree: LexborHTMLParser, html: str) -> tuple[_Pairs, _Pairs]:
    """Return the marked times, and the marked names and days, of a tree."""
    return _read_marks(tree, _tokens_in(html))


def _read_marks(tree: LexborHTMLParser, tokens: frozenset[str]) -> tuple[_Pairs, _Pairs]:
    times = tuple((_content(node, "datetime"), _told(node)) for node in _selected(tree, tokens, _TIME))
    return times, tuple(_marks(tree, tokens))


def _metas(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for node in tree.tags("meta"):
        attributes = node.attributes
        # Whatever is no part of a head ends it: what follows stands in body, where "itemprop" belongs to things.
        name = attributes.get("property") or attributes.get("name")
        if not name and node.parent is not None and node.parent.tag == "head":
            name = attributes.get("itemprop")
        content = attributes.get("content")
        if name and content and len(content) <= _MOST_CONTENT_CHARS:
            yield name.strip().lower(), content


def _scripts(tree: LexborHTMLParser, tokens: frozenset[str]) -> Iterator[str]:
    left = _MOST_SCRIPT_CHARS
    for node in islice(_selected(tree, tokens, _JSON_LD), _MOST_SCRIPTS):
        text = node.text()
        left -= len(text)
        if left < 0:
            return
        yield text


def _marks(tree: LexborHTMLParser, tokens: frozenset[str]) -> Iterator[tuple[str, str]]:
    for node in _selected(tree, tokens, _ITEMPROP):
        named = node.css_first("[itemprop~=name]") or node
        value = _content(node, "content") or _content(node, "datetime") or _content(named, "content") or _text(named)
        yield (node.attributes.get("itemprop") or "").strip(), value
    for node in _selected(tree, tokens, _REL):
        yield "rel", _text(node)


def _selected(tree: LexborHTMLParser, tokens: frozenset[str], wanted: tuple[str, str]) -> Iterator[LexborNode]:
    token, selector = wanted
    if token in tokens and tree.root is not None:
        yield from tree.root.css(selector)[:_MOST_MARKS]


def _told(node: LexborNode) -> str:
    """Return a time's text, behind what its class says of it where that is no day of publication."""
    kind = _content(node, "class").lower()
    return f"updated {_text(node)}" if "updated" in kind and "publish" not in kind else _text(node)


def _content(node: LexborNode, name: str) -> str:
    return (node.attributes.get(name) or "")[:_MOST_CONTENT_CHARS].strip()


def primary(tag: str | None) -> str | None:
    """Return the language of a `lang` attribute such as "nl-BE", in lower case; None for what is no such tag."""
    match = _TAG.fullmatch((tag or "")[:100])
    if match is None:
        return None
    code = match[1].lower()
    code = _SAME.get(code, code)
    return code if code in CODES else None


def _text(node: LexborNode) -> str:
    return " ".join(node.text(separator=" ").split())[:_MOST_CONTENT_CHARS]


def _named_days(html: str, tokens: frozenset[str]) -> Iterator[str]:
    for name in _DAY_NAMES:
        if name not in tokens:
            continue
        at = -1
        for _ in range(_MOST_DAYS):
            at = html.find(name, at + 1)
            if at < 0:
                break
            found = _NAMED_DAY.match(html, at + len(name), at + _DAY_CHARS)
            if found and not _OTHER_DAY.search(html, max(0, at - _NAME_CHARS), at - 1):
                yield found[1]
