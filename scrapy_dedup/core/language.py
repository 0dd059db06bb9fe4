"""Which chunks of a page are in a language that nobody wanted; in doubt a chunk stays.

A detector names a language and how sure it is; no rule here knows a language by itself, but for which are close to
one another. The page is evidence: what is unlike the rest of its page must be surer than what is like it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scrapy_dedup.core.chunks import Chunk, ChunkKind
from scrapy_dedup.core.language_codes import are_close, check_language, primary

__all__ = ["Detect", "LanguagePolicy", "LanguageReason", "LanguageVerdict", "check_language", "judge_languages"]

Detect = Callable[[str], tuple[str, float] | None]
"""From one line of text to a code (ISO 639-1 where there is one, lower case) and confidence 0 to 1; None: unknown."""

# No detector gets surer behind a hundred characters: so many of a chunk's beginning and end, and of a page, are read.
_HEAD_CHARS: Final = 300
_TAIL_CHARS: Final = 150
_PAGE_CHARS: Final = 600
# Of a text with a foreign sentence a detector is less sure.
_CLEAR: Final = 0.99
_LONGEST_PART: Final = 400
_MOST_PARTS: Final = 8
# Below this many letters a detector alone is wrong too often.
_SHORT: Final = 60
_IMAGE_OR_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t]+\"[^\"()]*\")?\)")
_NO_LANGUAGE: Final = re.compile(
    r"(?<!`)`++[^`]{0,400}`++"
    r"|<[^<>\s][^<>]{0,400}>"
    r"|\b(?:https?|ftp|mailto|file):\S+|\bwww\.\S+"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"
    r"|(?:[~.]{0,2}/)[\w.+-]+(?:/[\w.+-]*)+"
    r"|\b[^\W\d_]*+[\d_]\w*+"
    r"|[`*#>|~=\\\[\]{}]+",
)
_SENTENCE: Final = re.compile(r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
# Scripts in which a character is a syllable or a word, or words are not divided: half as many say as much.
_DENSE: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)
_DENSITY: Final = 2
_SIGN: Final = re.compile(r"[^\w\s]|[\d_]")


class LanguageReason(StrEnum):
    """Why a chunk stays or goes."""

    NOT_ASKED = "not_asked"
    """No language was named."""
    NOT_PROSE = "not_prose"
    """Code or a table."""
    SHORT = "short"
    """Too few letters."""
    WANTED = "wanted"
    UNSURE = "unsure"
    """Perhaps another language, not surely enough."""
    MIXED = "mixed"
    """Another language, with sentences in a wanted one."""
    OTHER = "other"
    """Surely another language: the only reason to drop."""


@dataclass(frozen=True, slots=True)
class LanguagePolicy:
    """What is wanted, and how sure a detector must be of another language (numbers: benchmarks/language).

    Raises:
        ValueError: a code that is not ISO 639-1, or a number out of range.
    """

    wanted: frozenset[str]
    """ISO 639-1; empty: everything."""
    confidence: float = 0.3
    """Of chunks that are neither short nor close to a wanted language, and of all on a page that is not wanted."""
    doubt: float = 0.5
    """Of a short chunk, or one in a language close to a wanted one, on a page that is wanted or of unknown language."""
    min_chars: int = 30
    """With fewer letters a chunk is not judged; half of that in scripts whose letters are syllables or words."""

    def __post_init__(self) -> None:
        for code in sorted(self.wanted):
            check_language(code)
        if not 0 <= self.confidence <= self.doubt <= 1 or self.min_chars < 1:
            raise ValueError(
                f"confidence={self.confidence}, doubt={self.doubt}, min_chars={self.min_chars}: "
                "needs 0 <= confidence <= doubt <= 1 and min_chars >= 1"
            )


@dataclass(frozen=True, slots=True)
class LanguageVerdict:
    """What was decided about one chunk."""

    keep: bool
    language: str | None
    """What the detector said; None where it was not asked or could not say."""
    confidence: float
    reason: LanguageReason
    mixed: bool
    """Some sentences are in a wanted language and some are not."""


def judge_languages(
    chunks: Sequence[Chunk], declared: str | None, detect: Detect, policy: LanguagePolicy
) -> list[LanguageVerdict]:
    """Return a verdict on each chunk of a page, in order.

    Args:
        chunks: of one page.
        declared: the page's `lang` attribute; what is no language code counts as none.
        detect: is called once a chunk, once for the page, and for the sentences of longer chunks.
        policy: what is wanted.
    """
    if not policy.wanted:
        return [_unjudged(LanguageReason.NOT_ASKED)] * len(chunks)
    texts = [prose_of(chunk.text) if _is_prose(chunk) else "" for chunk in chunks]
    page = _page_language(texts, declared, detect, policy)
    judge = _Judge(detect, policy, page_is_other=page is not None and page not in policy.wanted)
    return [judge.verdict(chunk, text) for chunk, text in zip(chunks, texts, strict=True)]


def prose_of(text: str) -> str:
    """Return what is read of a text, without what is in no language: addresses, code, numbers, signs of Markdown."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    text = _IMAGE_OR_LINK.sub(r"\1", text)
    return "\n".join(" ".join(line.split()) for line in _NO_LANGUAGE.sub(" ", text).split("\n")).strip()


def letters(text: str) -> int:
    """Return how much a text says: its letters and the spaces between, letters of dense scripts counted twice."""
    return len(text) - len(_SIGN.findall(text)) + (_DENSITY - 1) * len(_DENSE.findall(text))


@dataclass(frozen=True, slots=True)
class _Judge:
    detect: Detect
    policy: LanguagePolicy
    page_is_other: bool

    def verdict(self, chunk: Chunk, text: str) -> LanguageVerdict:
        said = letters(text)
        if not _is_prose(chunk) or said < self.policy.min_chars:
            reason = LanguageReason.SHORT if _is_prose(chunk) else LanguageReason.NOT_PROSE
            return _unjudged(reason)
        language, confidence = self.detect(_one_line(text)) or (None, 0.0)
        # Sentences of a text that is as surely as that in a wanted language need not be read.
        is_clear = language in self.policy.wanted and confidence >= _CLEAR
        wanted, other = self._parts(text) if said >= 2 * self.policy.min_chars and not is_clear else (False, False)
        reason = LanguageReason.OTHER
        if language in self.policy.wanted:
            reason = LanguageReason.WANTED
        elif wanted:
            reason, other = LanguageReason.MIXED, True
        elif language is None or confidence < self._needed(language, said):
            reason = LanguageReason.UNSURE
        keep = reason is not LanguageReason.OTHER
        mixed = other and reason in (LanguageReason.WANTED, LanguageReason.MIXED)
        return LanguageVerdict(keep, language, confidence, reason, mixed)

    def _needed(self, language: str, said: int) -> float:
        doubtful = said < _SHORT or any(are_close(language, code) for code in self.policy.wanted)
        return self.policy.doubt if doubtful and not self.page_is_other else self.policy.confidence

    def _parts(self, text: str) -> tuple[bool, bool]:
        """Whether some sentences are surely in a wanted language, and some surely in another."""
        wanted = other = False
        for part in _sentences(text, self.policy.min_chars):
            found = self.detect(part)
            if found is not None and found[1] >= self.policy.doubt:
                close = any(are_close(found[0], code) for code in self.policy.wanted)
                wanted = wanted or found[0] in self.policy.wanted
                other = other or (found[0] not in self.policy.wanted and not close)
        return wanted, other


def _unjudged(reason: LanguageReason) -> LanguageVerdict:
    return LanguageVerdict(keep=True, language=None, confidence=0.0, reason=reason, mixed=False)


def _is_prose(chunk: Chunk) -> bool:
    return chunk.kind not in (ChunkKind.CODE, ChunkKind.TABLE)


def _page_language(texts: Sequence[str], declared: str | None, detect: Detect, policy: LanguagePolicy) -> str | None:
    """Return the language of most of a page's prose; of too little of it, what the page declares."""
    share = max(100, _PAGE_CHARS // max(1, len(texts)))
    joined = " ".join(_one_line(text[:share]) for text in texts if text)[:_PAGE_CHARS]
    found = detect(joined) if letters(joined) >= policy.min_chars else None
    if found is not None and letters(joined) >= 2 * _SHORT and found[1] >= policy.confidence:
        return found[0]
    # A declaration in a theme is often wrong for its content: it may back a chunk, it never condemns one.
    code = primary(declared)
    return code if code in policy.wanted else None


def _sentences(text: str, least: int) -> list[str]:
    """Return sentences that say enough to be judged alone, the first few of them."""
    parts = (_one_line(part[:_LONGEST_PART]) for part in _SENTENCE.split(text))
    return [part for part in parts if letters(part) >= least][:_MOST_PARTS]


def _one_line(text: str) -> str:
    return " ".join(text.split())
