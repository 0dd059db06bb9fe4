"""Words cut at the end of a line, put together again."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from scrapy_dedup.core.pdf_lines import SOFT_HYPHEN

_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST: Final = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_FIRST: Final = re.compile(r"[^\W\d_]+")
# Written without spaces: no space where two lines meet.
_UNSPACED: Final = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60\u0e00-\u0eff]")


class Hyphens:
    """What a document's own words say about hyphens at the ends of its lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for line in lines:
            # The last word may be half a word.
            self._words.update(found.casefold() for found in _WORD.findall(line.rstrip("-")))

    def join(self, lines: Sequence[str]) -> str:
        """Return lines as one, words that were cut put together."""
        parts: list[str] = []
        for line in lines:
            if parts:
                parts[-1] = self._end(parts[-1], line)
            parts.append(line)
        return "".join(parts).rstrip(SOFT_HYPHEN)

    def _end(self, line: str, following: str) -> str:
        """Return a line with what stands between it and the next."""
        if line.endswith(SOFT_HYPHEN):
            return line.rstrip(SOFT_HYPHEN)
        last = _LAST.search(line[-200:])
        if last is None:
            is_dense = _UNSPACED.match(line[-1:]) and _UNSPACED.match(following[:1])
            is_number = re.search(r"\w-$", line[-2:]) and following[:1].isdigit()
            return line if is_dense or is_number else line + " "
        first = _FIRST.match(following)
        if first is None:
            return line + ("" if following[:1].isalnum() else " ")
        return line if self._keeps(last[1], first[0]) else line[:-1]

    def _keeps(self, last: str, first: str) -> bool:
        """Tell whether a hyphen is the word's own: it is written so elsewhere, or its second half is a name."""
        if not first[0].islower():
            return True
        whole, apart = (last + first).casefold(), f"{last}-{first}".casefold()
        if self._words[whole] != self._words[apart]:
            return self._words[whole] < self._words[apart]
        # Neither is known: long compounds have their hyphens, `e-` and `x-` keep theirs.
        return "-" in last or len(last) == 1
