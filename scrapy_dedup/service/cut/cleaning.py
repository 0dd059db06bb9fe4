"""One page to its cleaned text, with what was removed and why, as items say it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import (
    REPEATED_TEXT,
    Boilerplate,
    Removal,
    RemovalRule,
    hash_block,
    judge_blocks,
    repeated,
    split_into_blocks,
    strip_boilerplate,
)
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import content_hash, from_hex, in_hex, text_hash, to_hex
from scrapy_dedup.core.pages.render import Output, render
from scrapy_dedup.core.patterns import HeldBack, PatternHeld, TextSpan, cut_out, place, shorten
from scrapy_dedup.service.cut.site_patterns import PDF_PATTERN, TEXT_PATTERN, JudgedBlocks, SitePatterns, text_rule
from scrapy_dedup.settings import Settings

LAYER = "boilerplate"
PATTERNS = "patterns"
LAYERS = (LAYER, PATTERNS)
"""Those that leave out blocks; each has a decision of its own about a page."""


class Removed(Struct, frozen=True):
    """One block that was left out."""

    removal: Removal
    path: str
    text: str


class Cleaned(Struct, frozen=True, dict=True):
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
    shadowed: list[Removed] = field(default_factory=list)
    """What a layer in the shadow would have left out, too."""
    held: tuple[HeldBack, ...] = ()
    """Patterns that were not carried out on this page."""
    kept: tuple[bool, ...] = ()
    """For each block of the page whether it is left; empty for a text."""
    markdown: str | None = None
    """What is left as Markdown, where that was made; see `markdown_of`."""

    @cached_property
    def report(self) -> dict[str, Any]:
        """What the text is known by, and what was left out of it and why: on items, and in the store."""
        return {
            "content_hash": self.content_hash.hex(),
            "cleaned_hash": self.cleaned_hash.hex(),
            "chars_in": self.chars_in,
            "chars_out": self.chars_out,
            "removed": [told for _, told in self.groups],
        }

    @cached_property
    def groups(self) -> list[tuple[RemovalRule, dict[str, Any]]]:
        """What was left out, by the rule that left it out, as the report has it."""
        return groups_of(self.removed)

    @property
    def chars_removed(self) -> int:
        """Characters of the removed blocks."""
        return self.chars_in - self.chars_out

    @property
    def bytes_removed(self) -> int:
        """UTF-8 bytes of the removed blocks."""
        return len("".join([one.text for one in self.removed]).encode("utf-8", "surrogatepass"))


def method_of(settings: Settings, *, has_html: bool) -> Literal["template", "html", "text"]:
    """Return how the blocks of a page are judged."""
    chosen = settings.boilerplate_method
    if chosen == "text" or not has_html:
        return "text"
    return "template" if chosen == "auto" else chosen


def groups_of(removed: Sequence[Removed]) -> list[tuple[RemovalRule, dict[str, Any]]]:
    """Return what is told of removed blocks by the rule that they share, in the order in which the rules come first."""
    groups: dict[RemovalRule, list[Removed]] = {}
    # Neighbours mostly share it, and to look a rule up costs more than all else here.
    last: RemovalRule | None = None
    own: list[Removed] = []
    for one in removed:
        rule = one.removal.rule
        if rule is not last:
            last, own = rule, groups.setdefault(rule, [])
        own.append(one)
    return [
        (
            rule,
            {
                "layer": rule.layer,
                "reason": f"{rule.name}: {rule.evidence}" if rule.path else rule.evidence,
                "chars": sum([len(one.text) for one in own]),
                "blocks": in_hex([one.removal.fingerprint for one in own]),
                **({"path": rule.path} if rule.path else {}),
            },
        )
        for rule, own in groups.items()
    ]


def clean_html(
    page: Page,
    boilerplate: Boilerplate[int],
    output: Output,
    base_url: str | None = None,
    *,
    html: str = "",
    patterns: SitePatterns | None = None,
) -> Cleaned:
    """Return a page without the blocks that repeat; the whole visible page where nothing is known.

    Without *html*, what the page was parsed from, no selector acts; with *base_url* links become absolute.
    """
    removals = judge_blocks(page.fingerprints, boilerplate)
    if patterns is None:
        return without(page, removals, output, base_url)
    return judged(page, patterns.judge(html, page, removals), output, base_url, patterns=patterns)


def judged(
    page: Page, found: JudgedBlocks, output: Output, base_url: str | None = None, *, patterns: SitePatterns
) -> Cleaned:
    """Return a page without what was judged to go, and without what the expressions of its site match."""
    cleaned = without(page, found.removals, output, base_url, patterns=patterns)
    shadowed = [*_removed(page, found.shadowed), *cleaned.shadowed]
    return replace(cleaned, shadowed=shadowed, held=(*found.held, *cleaned.held))


def without(
    page: Page,
    removals: Sequence[Removal | None],
    output: Output,
    base_url: str | None = None,
    *,
    patterns: SitePatterns | None = None,
) -> Cleaned:
    """Return a page without what was judged to go, one judgement a block, and what expressions match of the rest."""
    keep = [removal is None for removal in removals]
    if patterns is None or not patterns.text.members or not (patterns.acts or patterns.shadows):
        return _drawn(page, keep, output, base_url, _removed(page, removals))
    markdown = render(page, keep, "markdown", base_url)
    found = patterns.find(markdown)
    part = _without_matches(page, keep, base_url, (markdown, found.spans), patterns) if found.spans else None
    if part is None:
        held = tuple(
            HeldBack(name, PatternHeld.WHOLE_PAGE) for name in dict.fromkeys(one.pattern for one in found.spans)
        )
        cleaned = _drawn(page, keep, output, base_url, _removed(page, removals), markdown)
        return replace(cleaned, held=found.held + held)
    if patterns.shadows:
        cleaned = _drawn(page, keep, output, base_url, _removed(page, removals), markdown)
        return replace(cleaned, held=found.held, shadowed=part.removed)
    removed = [*_removed(page, removals), *part.removed]
    cleaned = _drawn(part.page, part.keep, output, base_url, removed, part.markdown)
    return replace(cleaned, held=found.held, chars_in=page.chars)


class _Part(NamedTuple):
    """What expressions leave of a page."""

    page: Page
    keep: list[bool]
    markdown: str
    removed: list[Removed]


def _without_matches(
    page: Page,
    keep: Sequence[bool],
    base_url: str | None,
    matched: tuple[str, Sequence[TextSpan]],
    patterns: SitePatterns,
) -> _Part | None:
    """Return what is left of a page without spans of its Markdown; None where no block would be left."""
    markdown, spans = matched
    placed = place(page, keep, base_url)
    # The marks may have changed how a text is escaped, where it holds what Markdown would take for more.
    same = placed.markdown == markdown
    shortened = shorten(page, placed, spans if same else patterns.text.find(placed.markdown).spans)
    left = [kept and at not in shortened.gone for at, kept in enumerate(keep)]
    if not any(left):
        return None
    removed = []
    for one in shortened.cuts:
        block = page.blocks[one.block]
        key = block.fingerprint if one.block in shortened.gone else from_hex(hash_block(one.text))
        removed.append(Removed(Removal(key, text_rule(one.pattern)), block.path, one.text))
    told = {one.pattern for one in shortened.cuts}
    for span in spans:
        if span.pattern not in told:
            # Markup alone went, such as the address of a link.
            told.add(span.pattern)
            sample = from_hex(hash_block(markdown[span.start : span.end]))
            removed.append(Removed(Removal(sample, text_rule(span.pattern)), "", ""))
    return _Part(replace(page, blocks=shortened.blocks), left, cut_out(markdown, spans), removed)


def _removed(page: Page, removals: Sequence[Removal | None]) -> list[Removed]:
    return [
        Removed(removal, block.path, block.text)
        for removal, block in zip(removals, page.blocks, strict=True)
        if removal is not None
    ]


def _drawn(
    page: Page,
    keep: Sequence[bool],
    output: Output,
    base_url: str | None,
    removed: list[Removed],
    markdown: str | None = None,
) -> Cleaned:
    kept = [block.text for stays, block in zip(keep, page.blocks, strict=True) if stays]
    content = markdown if output == "markdown" and markdown is not None else render(page, keep, output, base_url)
    return Cleaned(
        content=content,
        chars_in=page.chars,
        chars_out=sum(map(len, kept)),
        removed=removed,
        content_hash=content_hash(content),
        cleaned_hash=text_hash("\n".join(kept)),
        kept=tuple(keep),
        markdown=content if output == "markdown" else markdown,
    )


def markdown_of(page: Page, cleaned: Cleaned, base_url: str | None = None) -> str:
    """Return what is left of a page as Markdown, whatever the form in which it goes out.

    With *base_url* links become absolute.
    """
    if cleaned.markdown is not None:
        return cleaned.markdown
    return render(page, cleaned.kept, "markdown", base_url)


def clean_text(
    content: str,
    boilerplate: Boilerplate[int],
    min_block_chars: int,
    *,
    patterns: SitePatterns | None = None,
    of_pdf: bool = False,
) -> Cleaned:
    """Return a text without the parts that repeat; byte for byte the same where there is none.

    Blocks shorter than *min_block_chars* are not dropped for repeating; PDF files have patterns of their own.
    """
    removed = []
    for block in split_into_blocks(content, min_block_chars):
        key = from_hex(hash_block(block))
        if (count := boilerplate.counts.get(key)) is not None:
            removed.append(Removed(Removal(key, repeated(REPEATED_TEXT, count, boilerplate.of_pages(key))), "", block))
    if patterns is not None:
        removed = [one for one in removed if not patterns.stays(one.removal)]
    cleaned = content
    if removed:
        cleaned, _ = strip_boilerplate(content, {to_hex(one.removal.fingerprint) for one in removed}, min_block_chars)
    left, matched, held = _without_patterns(cleaned, patterns, of_pdf=of_pdf)
    is_shadow = patterns is not None and patterns.shadows
    if not is_shadow:
        cleaned = left
        removed += matched
    return Cleaned(
        content=cleaned,
        chars_in=len(content),
        chars_out=len(cleaned),
        removed=removed,
        content_hash=content_hash(cleaned),
        cleaned_hash=text_hash(cleaned),
        shadowed=matched if is_shadow else [],
        held=held,
        markdown=cleaned,
    )


def _without_patterns(
    text: str, patterns: SitePatterns | None, *, of_pdf: bool
) -> tuple[str, list[Removed], tuple[HeldBack, ...]]:
    """Return a text without what the expressions of its site match, and what that was."""
    if patterns is None or not (patterns.acts or patterns.shadows):
        return text, [], ()
    matched: list[Removed] = []
    held: tuple[HeldBack, ...] = ()
    of_text, own = (TEXT_PATTERN, patterns.find), (PDF_PATTERN, patterns.find_in_pdf)
    for name, find in (own, of_text) if of_pdf else (of_text,):
        found = find(text)
        for one in found.spans:
            part = text[one.start : one.end]
            removal = Removal(from_hex(hash_block(part)), text_rule(one.pattern, name))
            matched.append(Removed(removal, "", part))
        held += found.held
        text = cut_out(text, found.spans)
    return text, matched, held


def counts_of(cleaned: Cleaned) -> dict[str, int]:
    """Return by how much a cleaned page adds to the stats, by their names without `dedup/`."""
    found = Counter({"pages/chars_in": cleaned.chars_in, "pages/chars_out": cleaned.chars_out})
    for prefix, groups in (("", cleaned.groups), ("shadow/", groups_of(cleaned.shadowed))):
        for rule, told in groups:
            found[f"{prefix}{rule.layer}/pages"] = 1
            found[f"{prefix}{rule.layer}/blocks"] += len(told["blocks"])
            found[f"{prefix}{rule.layer}/chars"] += told["chars"]
    return dict(found)


def as_asked(report: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return a `Cleaned.report` as an item has it: how much each layer left out, or all if asked."""
    if "removed" in settings.item_details:
        # Whoever changes the item does not change what is stored.
        return deepcopy(dict(report))
    layers: dict[str, dict[str, int]] = {}
    for group in report["removed"]:
        layer = layers.setdefault(group["layer"], {"blocks": 0, "chars": 0})
        layer["blocks"] += len(group["blocks"])
        layer["chars"] += group["chars"]
    return {**report, "removed": layers}
