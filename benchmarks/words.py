"""How much of a page's true main content an extracted text has: precision, recall and F1 of its words.

Words are lower-cased runs of letters and digits; a Chinese, Japanese, Korean, Thai or Lao character is a word. The true
content is what the manifest's selectors name; *neutral* regions (bylines, comments) count neither way.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

_SINGLE = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
WORD = re.compile(rf"[{_SINGLE}]|[^\W{_SINGLE}]+")
_UNSEEN = frozenset(
    "script style noscript template svg iframe object select button textarea head title datalist canvas audio video "
    "embed".split()
)
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr img math picture source output".split()
)
# Pages with fewer true words say nothing about a method.
FEWESTWORDS = 20


@dataclass(frozen=True, slots=True)
class Score:
    """Of one page, or the mean of some."""

    precision: float
    recall: float
    f1: float


def words(text: str) -> Counter[str]:
    """Return how often each word occurs."""
    return Counter(WORD.findall(text.lower()))


def mean(scores: list[Score]) -> Score:
    """Return the mean of each figure."""
    count = len(scores)
    return Score(
        sum(score.precision for score in scores) / count,
        sum(score.recall for score in scores) / count,
        sum(score.f1 for score in scores) / count,
    )


def score(got: Counter[str], true: Counter[str], lenient: Counter[str]) -> Score:
    """Compare words.

    Args:
        got: of the extracted text.
        true: of the main content.
        lenient: of the main content and the neutral regions; what it has beyond *true* costs nothing.
    """
    right = (got & true).total()
    free = ((got - (got & true)) & (lenient - true)).total()
    kept, wanted = got.total() - free, true.total()
    precision = right / kept if kept else float(not wanted)
    recall = right / wanted if wanted else 1.0
    both = precision + recall
    return Score(precision, recall, 2 * precision * recall / both if both else 0.0)


@dataclass(slots=True)
class Truth:
    """The words of a page's main content."""

    true: Counter[str]
    lenient: Counter[str]


def regions(tree: LexborHTMLParser, gold: dict[str, Any]) -> list[tuple[LexborNode, str]]:
    """Return the text nodes of a body that a reader sees, each with its region: main, neutral, excluded or empty."""
    main = main_nodes(tree, gold)
    if tree.body is None:
        return []
    reader = _Reader(main, _ids(tree, gold.get("exclude")), _ids(tree, gold.get("neutral")))
    reader.read(tree.body)
    return reader.nodes


def truth(html: str, gold: dict[str, Any]) -> Truth | None:
    """Return what a manifest's selectors name on a page; None where they name next to nothing."""
    tree = LexborHTMLParser(html)
    main = main_nodes(tree, gold)
    if not main or tree.body is None:
        return None
    reader = _Reader(main, _ids(tree, gold.get("exclude")), _ids(tree, gold.get("neutral")))
    reader.read(tree.body)
    true = words("".join(reader.true))
    return Truth(true, words("".join(reader.lenient))) if true.total() >= FEWESTWORDS else None


def main_nodes(tree: LexborHTMLParser, gold: Mapping[str, Any]) -> set[int]:
    """Return the elements of the main content, by their places in memory; of several selectors the first that fits."""
    selectors = gold["main"] if isinstance(gold["main"], list) else [gold["main"]]
    return next((found for selector in selectors if (found := _ids(tree, [selector]))), set())


def _ids(tree: LexborHTMLParser, selectors: list[str] | None) -> set[int]:
    return {node.mem_id for selector in selectors or [] for node in tree.css(selector)}


class _Reader:
    """Reads the text of a body by region, without recursion."""

    def __init__(self, main: set[int], excluded: set[int], neutral: set[int]) -> None:
        self.regions = (main, excluded, neutral)
        self.true: list[str] = []
        self.lenient: list[str] = []
        self.nodes: list[tuple[LexborNode, str]] = []

    def read(self, body: LexborNode) -> None:
        frames = [(body, self._region(body, ""), "")]
        node = body.child
        while frames:
            if node is None:
                left, _, edge = frames.pop()
                self._both(edge)
                node = left.next if frames else None
                continue
            region = frames[-1][1]
            tag = node.tag or ""
            if tag == "-text":
                self._text(node.text_content or "", region)
                self.nodes.append((node, region))
            elif tag == "br":
                self._both("\n")
            elif tag and tag[0] not in "-_!" and tag not in _UNSEEN:
                inner = self._region(node, region)
                edge = "\n" if tag not in _INLINE else " " if inner != region else ""
                self._both(edge)
                frames.append((node, inner, edge))
                node = node.child
                continue
            node = node.next

    def _region(self, node: LexborNode, outer: str) -> str:
        main, excluded, neutral = self.regions
        if node.mem_id in excluded:
            return "excluded"
        if node.mem_id in neutral:
            return "neutral"
        return "main" if node.mem_id in main and not outer else outer

    def _text(self, text: str, region: str) -> None:
        if region == "main":
            self.true.append(text)
        if region in ("main", "neutral"):
            self.lenient.append(text)

    def _both(self, text: str) -> None:
        self.true.append(text)
        self.lenient.append(text)
