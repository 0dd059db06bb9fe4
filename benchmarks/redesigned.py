"""A real page in another design: its tree is written anew, with other elements, names or texts around its content."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from benchmarks.local_site import WORDS
from benchmarks.words import WORD, main_nodes

_WORDS: Final = sorted({word for word in WORDS if len(word) > 4})
_CONSONANTS: Final = "bcdfghjklmnpqrstvwxyz"
_NAMES: Final = ("class", "id")
# Elements of text stay what they are inside of a line; a table becomes a grid of sections.
_TAGS: Final = dict.fromkeys("nav ul ol dl header table tbody tr h2 h3 h4 h5 h6".split(), "section") | dict.fromkeys(
    "li dd dt p td th footer aside section".split(), "div"
)
_TAGS_OF_DIV: Final = "section"
_RAW: Final = frozenset("script style noscript template svg iframe object textarea select".split())
_VOID: Final = frozenset("area base br col embed hr img input link meta source track wbr".split())
# Nothing but certain elements may stand in these: no wrapper fits in.
_STRICT: Final = frozenset("table tbody thead tfoot tr ul ol dl select".split())


@dataclass(frozen=True, slots=True)
class Design:
    """What is new."""

    chrome_tags: bool = False
    chrome_names: bool = False
    chrome_texts: bool = False
    wrapper: bool = False
    """The elements that the main content stands in have other names, and there are two more of them."""

    def text(self, text: str) -> str:
        """Return a text beside the main content as it reads in this design."""
        return WORD.sub(lambda found: _word(found[0]), text) if self.chrome_texts else text


DESIGNS: Final = {
    "unchanged": Design(),
    "old chrome in new elements": Design(chrome_tags=True, chrome_names=True),
    "chrome alone": Design(chrome_names=True, chrome_texts=True),
    "the content's wrapper alone": Design(wrapper=True),
}


def redesigned(html: str, gold: dict[str, Any], design: Design) -> str:
    """Return a page in another design; where its main content is not found, or nothing is new, as it came."""
    tree = LexborHTMLParser(html)
    main = main_nodes(tree, gold)
    if not main or tree.body is None or design == Design():
        return html
    above: set[int] = set()
    for node in tree.css("*"):
        if node.mem_id in main:
            outer = node.parent
            while outer is not None and outer.mem_id not in above:
                above.add(outer.mem_id)
                outer = outer.parent
    writer = _Writer(main, above, design)
    head = tree.head.html if tree.head is not None else ""
    return f"<!doctype html><html>{head}{''.join(writer.element(tree.body))}</html>"


def with_random_names(html: str, gold: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a page whose classes and ids are replaced by others, one for one, and what finds its content there."""
    tree = LexborHTMLParser(html)
    marks: dict[int, list[str]] = {node: ["main"] for node in main_nodes(tree, gold)}
    for region in ("exclude", "neutral"):
        for selector in gold.get(region) or ():
            for node in tree.css(selector):
                marks.setdefault(node.mem_id, []).append(region)
    for node in tree.css("*"):
        for name in _NAMES:
            if value := node.attributes.get(name):
                node.attrs[name] = " ".join(map(_name, value.split()))
        if node.mem_id in marks:
            node.attrs["data-marked"] = " ".join(marks[node.mem_id])
    found = {region: [f"[data-marked~={region}]"] for region in ("main", "exclude", "neutral")}
    return tree.html or "", found


@dataclass(frozen=True, slots=True)
class _Writer:
    main: set[int]
    above: set[int]
    design: Design

    def element(self, node: LexborNode) -> Iterator[str]:
        tag = node.tag or ""
        if node.mem_id in self.main:
            yield from self._wrapped(node)
        elif tag == "-text":
            yield self._text(node.html or "")
        elif tag in _RAW:
            yield node.html or ""
        elif tag and tag[0] not in "-_!":
            is_above = node.mem_id in self.above or tag == "body"
            name = tag if is_above or not self.design.chrome_tags else _new_tag(tag)
            is_renamed = self.design.wrapper if is_above else self.design.chrome_names
            yield _start(node, name, is_renamed=is_renamed)
            if tag not in _VOID:
                for child in node.iter(include_text=True):
                    yield from self.element(child)
                yield f"</{name}>"

    def _wrapped(self, node: LexborNode) -> Iterator[str]:
        """Yield the main content, which stays what it is, in one element more than before."""
        if not self.design.wrapper or node.tag in _STRICT or node.tag in _VOID:
            yield node.html or ""
            return
        tag, inner = node.tag or "div", "".join(child.html or "" for child in node.iter(include_text=True))
        yield _start(node, tag, is_renamed=True)
        wrap = "span" if tag == "p" else "div"
        yield f'<{wrap} class="{_name("outer")}"><{wrap} class="{_name("inner")}">{inner}</{wrap}></{wrap}></{tag}>'

    def _text(self, text: str) -> str:
        if not self.design.chrome_texts:
            return text
        return _BETWEEN_ENTITIES.sub(lambda found: found[0] if found[0][0] == "&" else self.design.text(found[0]), text)


_BETWEEN_ENTITIES: Final = re.compile(r"&#?\w+;|[^&]+")


def _start(node: LexborNode, tag: str, *, is_renamed: bool) -> str:
    attributes = []
    for name, value in node.attributes.items():
        told = value or ""
        if is_renamed and name in _NAMES:
            told = " ".join(map(_name, told.split()))
        if is_renamed and name == "role":
            continue
        attributes.append(f' {name}="{told.replace("&", "&amp;").replace(chr(34), "&quot;")}"')
    return f"<{tag}{''.join(attributes)}>"


def _new_tag(tag: str) -> str:
    return _TAGS_OF_DIV if tag == "div" else _TAGS.get(tag, tag)


def _name(old: str) -> str:
    """Return the new name for an old one: two words that mean nothing here."""
    number = _number(old)
    return f"{_WORDS[number % len(_WORDS)]}-{_WORDS[number // len(_WORDS) % len(_WORDS)]}"


def _word(old: str) -> str:
    """Return another word for each, as long as it was; numbers stay."""
    if old.isdigit():
        return old
    number, letters = _number(old.lower()), ""
    while len(letters) < len(old):
        number, rest = divmod(number or _number(letters), 21 * 5)
        letters += _CONSONANTS[rest % 21] + "aeiou"[rest // 21]
    return letters[: len(old)].capitalize() if old[0].isupper() else letters[: len(old)]


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")
