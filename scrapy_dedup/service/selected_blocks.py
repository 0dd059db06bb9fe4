"""Which blocks of a page the selectors of its site take, selector after selector."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from scrapy_dedup.core.blocks import Block
from scrapy_dedup.core.patterns import Held
from scrapy_dedup.core.repeats import Rule

# Of the text that is left of a page. More than this is its content, whatever a selector of all sites says.
_MOST_GENERIC: Final = 0.5
# And more than this leaves no page: a selector of the site itself then was meant for other pages.
_MOST_OF_PAGE: Final = 0.95
_CONTENT_STEPS: Final = ("main", "article")


class Target(NamedTuple):
    """A selector, and what it stands for."""

    selector: str
    rule: Rule
    is_generic: bool
    outside_content: bool = False


class Choice:
    """Which blocks go, selector after selector."""

    def __init__(self, blocks: Sequence[Block], left: Sequence[int], keep: frozenset[int]) -> None:
        self._blocks = blocks
        self._left = left
        self._keep = keep
        self._chars = sum(len(blocks[place].text) for place in left)
        self.taken: dict[int, Rule] = {}

    def take(self, target: Target, matched: Sequence[int], protected: Sequence[bool]) -> Held | None:
        """Take what a selector matches, a generic one but for what is protected; return why it is not carried out."""
        own = [place for place in matched if self._is_meant(target, self._blocks[place])]
        # Protected blocks count: what is around most of a page is no box beside it, whoever knows its parts.
        chars = sum(len(self._blocks[place].text) for place in own)
        if target.is_generic and chars > _MOST_GENERIC * self._chars:
            return Held.PROTECTED
        if chars > _MOST_OF_PAGE * self._chars:
            return Held.WHOLE_PAGE
        for place in own:
            if not (target.is_generic and protected[place]):
                self.taken.setdefault(place, target.rule)
        return None

    def _is_meant(self, target: Target, block: Block) -> bool:
        if block.fingerprint in self._keep:
            return False
        return not (target.outside_content and _is_in_content(block.path))

    @property
    def leaves_nothing(self) -> bool:
        """Whether all selectors together would leave no text."""
        return len(self.taken) == len(self._left)


@lru_cache(maxsize=8_192)
def _is_in_content(path: str) -> bool:
    """Whether a path leads through the page's content."""
    return any(step.partition(".")[0].partition("#")[0] in _CONTENT_STEPS for step in path.split(">"))
