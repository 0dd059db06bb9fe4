"""One page to its cleaned text, with what was removed and why."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.fingerprints import both_hashes, content_hash, from_hex, text_hash, to_hex
from scrapy_dedup.core.render import Output, render
from scrapy_dedup.core.repeats import (
    REPEATED_TEXT,
    Boilerplate,
    Removal,
    hash_block,
    judge_blocks,
    repeated,
    split_into_blocks,
    strip_boilerplate,
)


@dataclass(frozen=True, slots=True)
class Removed:
    """One block that was left out."""

    removal: Removal
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What is left of a page."""

    content: str
    chars_in: int
    """Characters of visible text before."""
    chars_out: int
    removed: list[Removed] = field(default_factory=list)
    content_hash: bytes = b""
    """SHA-256 of the kept text as it goes out."""
    cleaned_hash: bytes = b""
    """Of the kept text, whatever the output's form."""

    @property
    def chars_removed(self) -> int:
        """Characters of the removed blocks."""
        return self.chars_in - self.chars_out


def clean_html(page: Page, boilerplate: Boilerplate[int], output: Output, base_url: str | None = None) -> Cleaned:
    """Return a page without the blocks that repeat; the whole visible page where nothing is known."""
    return without(page, judge_blocks(page.fingerprints, boilerplate), output, base_url)


def without(page: Page, removals: Sequence[Removal | None], output: Output, base_url: str | None = None) -> Cleaned:
    """Return a page without what was judged to go, one judgement a block."""
    removed = [
        Removed(removal, block.path, block.text)
        for removal, block in zip(removals, page.blocks, strict=True)
        if removal is not None
    ]
    kept = [block.text for removal, block in zip(removals, page.blocks, strict=True) if removal is None]
    chars_out = sum(map(len, kept))
    content = render(page, [removal is None for removal in removals], output, base_url)
    own_text = "\n".join(kept)
    # As text, what goes out has the same words.
    hashes = both_hashes(own_text) if output == "text" else (content_hash(content), text_hash(own_text))
    return Cleaned(
        content=content,
        chars_in=chars_out + sum(len(one.text) for one in removed),
        chars_out=chars_out,
        removed=removed,
        content_hash=hashes[0],
        cleaned_hash=hashes[1],
    )


def clean_text(content: str, boilerplate: Boilerplate[int], min_block_chars: int) -> Cleaned:
    """Return a text without the parts that repeat; byte for byte the same where there is none."""
    removed = []
    for block in split_into_blocks(content, min_block_chars):
        key = from_hex(hash_block(block))
        if (count := boilerplate.counts.get(key)) is not None:
            removed.append(Removed(Removal(key, repeated(REPEATED_TEXT, count, boilerplate.pages)), "", block))
    cleaned = content
    if removed:
        cleaned, _ = strip_boilerplate(content, {to_hex(one.removal.fingerprint) for one in removed}, min_block_chars)
    return Cleaned(
        content=cleaned,
        chars_in=len(content),
        chars_out=len(cleaned),
        removed=removed,
        content_hash=content_hash(cleaned),
        cleaned_hash=text_hash(cleaned),
    )
