"""The blocks of a stored page, and why each of them was left out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.fingerprints import to_hex
from scrapy_dedup.core.repeats import Boilerplate, Removal
from scrapy_dedup.service.reading import Located, Reading, other_method, read_again
from scrapy_dedup.service.removals import ACTION, LAYERS, removals_in
from scrapy_dedup.service.site_config import stored_config
from scrapy_dedup.service.site_patterns import PATTERNS, patterns_of
from scrapy_dedup.service.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import HTML_FIELDS
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredBoilerplate, StoredDecision, StoredSource
from scrapy_dedup.store.writer import ProjectStore

_NOTHING: Final[Boilerplate[int]] = Boilerplate()


@dataclass(frozen=True, slots=True)
class JudgedBlock:
    """A block of a page, with the reason why it was left out, if it was."""

    path: str
    text: str
    fingerprint: int
    removal: Removal | None
    is_part: bool = False
    """It is what an expression took out of the block before it."""


@dataclass(frozen=True, slots=True)
class RemovedBlock:
    """A block that was left out; the text is empty where nobody knows it any more."""

    layer: str
    rule: str
    evidence: str
    on_pages: int
    of_pages: int
    fingerprint: str
    path: str
    text: str
    rule_path: str = ""
    """The path, selector or expression of the rule; empty where each block is judged by itself."""


@dataclass(frozen=True, slots=True)
class PageBlocks:
    """A page's blocks in their order, and removed ones that its stored original does not have."""

    blocks: tuple[JudgedBlock, ...] = ()
    lost: tuple[JudgedBlock, ...] = ()

    def removed(self) -> tuple[RemovedBlock, ...]:
        """Return those that were left out, in the order of the page."""
        found = [one for one in self.blocks if one.removal is not None]
        return tuple(told(one) for one in (*found, *self.lost))


def own_removals(decisions: Iterable[StoredDecision], page_key: bytes) -> dict[int, Removal]:
    """Return which blocks layers left out of a page, by fingerprint; what one in the shadow would is not among them."""
    found: dict[int, Removal] = {}
    for decision in decisions:
        if decision.page_key == page_key and decision.layer in LAYERS and decision.action == ACTION:
            found |= removals_in(decision)
    return found


def page_blocks(
    store: Store, project: ProjectStore, source: StoredSource, removals: Mapping[int, Removal], settings: Settings
) -> PageBlocks:
    """Return the blocks of a stored page, with what is known of removed ones that are not among them.

    Raises:
        StoreError: the store failed.
    """
    blocks = judged_blocks(source, removals, settings)
    missing = removals.keys() - {block.fingerprint for block in blocks}
    if not missing:
        return PageBlocks(tuple(blocks))
    parts = _cut_again(store, project, source, settings) if _by_patterns(removals, missing) else {}
    lost = []
    # What cannot be found in the original, because it is not kept or a newer one, is told from the domain's samples.
    knowledge = project.knowledge(source.domain)
    for key in sorted(missing):
        part = parts.get(key)
        if part is None:
            lost.append(_remembered(key, removals[key], knowledge.values()))
        elif not _inserted(blocks, JudgedBlock(*part, key, removals[key], is_part=True)):
            lost.append(JudgedBlock(*part, key, removals[key]))
    return PageBlocks(tuple(blocks), tuple(lost))


def lost_blocks(project: ProjectStore, domain: str, removals: Mapping[int, Removal]) -> PageBlocks:
    """Return what is known of the removed blocks of a page that is not stored.

    Raises:
        StoreError: the store failed.
    """
    knowledge = project.knowledge(domain) if removals else {}
    return PageBlocks((), tuple(_remembered(key, removals[key], knowledge.values()) for key in sorted(removals)))


def judged_blocks(
    source: StoredSource | None, removals: Mapping[int, Removal], settings: Settings
) -> list[JudgedBlock]:
    """Return the blocks of a stored page in their order; none where it is not kept.

    They are those by which the removed ones are found: the settings may have changed since.
    """
    if source is None:
        return []
    blocks = _blocks(source, settings)
    if source.field in HTML_FIELDS and removals and not _holds(blocks, removals):
        others = _blocks(source, other_method(settings))
        if _holds(others, removals):
            blocks = others
    return [JudgedBlock(path, text, key, removals.get(key)) for key, path, text in blocks]


def told(block: JudgedBlock) -> RemovedBlock:
    """Return a block that was left out as it is told."""
    removal = block.removal
    assert removal is not None
    rule = removal.rule
    return RemovedBlock(
        layer=rule.layer,
        rule=rule.name,
        evidence=rule.evidence,
        on_pages=rule.on_pages,
        of_pages=rule.of_pages,
        fingerprint=to_hex(block.fingerprint),
        path=block.path,
        text=block.text,
        rule_path=rule.path,
    )


def _blocks(source: StoredSource, settings: Settings) -> list[Located]:
    reading = read_again(source, settings)
    return reading.blocks() if reading else []


def _holds(blocks: Iterable[Located], removals: Mapping[int, Removal]) -> bool:
    return any(block.fingerprint in removals for block in blocks)


def _by_patterns(removals: Mapping[int, Removal], keys: Iterable[int]) -> bool:
    return any(removals[key].rule.layer == PATTERNS for key in keys)


def _cut_again(
    store: Store, project: ProjectStore, source: StoredSource, settings: Settings
) -> dict[int, tuple[str, str]]:
    """Return (path, text) of what expressions take out of a page today, by fingerprint: texts of parts are not kept."""
    reading = read_again(source, settings)
    if reading is None:
        return {}
    try:
        removed = _removed(reading, store, project, source.domain, settings)
    except DedupError:  # what was decided about the site cannot be used any more: then nothing is known of it
        return {}
    return {key: (path, text) for key, path, text in removed if text}


def _removed(
    reading: Reading, store: Store, project: ProjectStore, domain: str, settings: Settings
) -> list[tuple[int, str, str]]:
    patterns = patterns_of(settings, stored_config(store, project, domain), domain)
    site = site_of(domain, project.templates(domain)) if reading.method == "template" else None
    cleaned = reading.clean(_NOTHING, settings, site, patterns)
    return [(one.removal.fingerprint, one.path, one.text) for one in cleaned.removed]


def _inserted(blocks: list[JudgedBlock], part: JudgedBlock) -> bool:
    """Put a part behind the first block that has its words; say whether there is one."""
    words = part.text.split()
    for place, block in enumerate(blocks):
        if block.path == part.path and not block.is_part and all(word in block.text for word in words):
            blocks.insert(place + 1, part)
            return True
    return False


def _remembered(key: int, removal: Removal, knowledge: Iterable[StoredBoilerplate]) -> JudgedBlock:
    digits = to_hex(key)
    for row in knowledge:
        if row.evidence and digits in row.evidence:
            return JudgedBlock(row.evidence[digits].path, row.evidence[digits].sample, key, removal)
    return JudgedBlock("", "", key, removal)
