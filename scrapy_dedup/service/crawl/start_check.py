"""What of the settings can only be told wrong by trying: expressions, selectors, languages, the tokenizer."""

from dataclasses import replace
from typing import Literal

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.service.cut.site_patterns import check_config, patterns_of
from scrapy_dedup.service.duplicates.chunking import measure_of
from scrapy_dedup.service.model_file import verdict_model
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.writer import ProjectStore

# More than any project has documents: no text is left out.
_NO_END = 10**9


def check_settings(settings: Settings) -> None:
    """Try what the settings name, before the first page comes.

    Raises:
        DedupError: one cannot be used; the message names it.
    """
    if settings.boilerplate_enabled and settings.boilerplate_method in ("auto", "template"):
        verdict_model()
    if settings.patterns_enabled:
        patterns_of(settings)
    measure_of(settings.chunk_tokenizer)
    if settings.chunk_overlap * 2 > settings.chunk_size:
        raise DedupError(
            f'DEDUP_CHUNK["overlap"]={settings.chunk_overlap}: needs at most half of the size of a chunk,'
            f" which is {settings.chunk_size}"
        )
    if settings.languages:
        _check_languages(settings)


def _check_languages(settings: Settings) -> None:
    from scrapy_dedup.core.chunks.language import careful, check_language, check_light  # noqa: PLC0415 (few crawls)

    for code in sorted(settings.languages):
        try:
            check_language(code)
        except ValueError as error:
            raise DedupError(f"DEDUP_LANGUAGES: {error}") from error
    if settings.language_enabled:
        if settings.language_detector == "lingua":
            careful(settings.languages)
        else:
            check_light()


def check_sites(store: ProjectStore, settings: Settings) -> None:
    """Try what people decided about the project's domains.

    Raises:
        DedupError: an entry cannot be used; the message names it and its domain.
        StoreError: the store failed.
    """
    if settings.patterns_enabled:
        for one in store.site_configs():
            check_config(SiteConfig.from_json(one.config), one.domain, allow_slow=settings.allow_slow_patterns)


def marking_all(settings: Settings) -> Settings:
    """Return settings by which a page goes out whatever its title and its text have in common with another's."""
    near: Literal["off", "mark"] = "off" if settings.near_duplicate == "off" else "mark"
    return replace(settings, title_enabled=False, duplicate_enabled=False, near_duplicate=near)


def keeping_all(settings: Settings) -> Settings:
    """Return settings by which no other page stands for one, and none of its chunks is left out."""
    return replace(
        settings,
        title_enabled=False,
        duplicate_enabled=False,
        near_duplicate_enabled=False,
        chunk_min_documents=_NO_END,
        languages=frozenset(),
    )
