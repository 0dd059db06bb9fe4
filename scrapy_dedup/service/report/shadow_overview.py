"""What a report shows of layers in the shadow, and a stored page with what was, or would be, removed of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from scrapy_dedup.report import values
from scrapy_dedup.service.cut.removals import LAYER, SHADOW, removals_in
from scrapy_dedup.service.views.explain import JudgedBlock, judged_blocks
from scrapy_dedup.settings import LAYERS, Settings
from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records.stored import StoredRun, StoredSource
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

SAMPLES: Final = 3
PAGES: Final = 10

_PREFIX: Final = "dedup/shadow/"


def sample_page(project: ProjectStore, settings: Settings, source: StoredSource, action: str) -> values.SamplePage:
    """Return a stored page, block for block, with what the decision with this action takes out of it.

    Raises:
        StoreError: the store failed.
    """
    decisions = project.decisions(source.page_key)
    decision = next((each for each in decisions if (each.layer, each.action) == (LAYER, action)), None)
    return values.SamplePage(
        url=source.url,
        title=source.title or "",
        blocks=tuple(_block(block) for block in judged_blocks(source, removals_in(decision), settings)),
        cleaned=source.cleaned_content or "",
    )


def _block(block: JudgedBlock) -> values.SampleBlock:
    if block.removal is None:
        return values.SampleBlock(block.text, kept=True)
    rule = block.removal.rule
    return values.SampleBlock(block.text, kept=False, layer=LAYER, rule=rule.name, evidence=rule.evidence)


def shadowed_layers(
    store: Store, project: ProjectStore, settings: Settings, runs: Sequence[StoredRun], run: StoredRun | None
) -> tuple[values.ShadowedLayer, ...]:
    """Return what layers in the shadow would have dropped: of one run, or of all that are given.

    Raises:
        StoreError: the store failed.
    """
    counts = {layer: _counts(runs, layer) for layer in LAYERS}
    layers = [layer for layer in LAYERS if counts[layer]]
    with store.session(read_only=True) as session:
        reads = Reads(session, project.id, run.id if run is not None else None)
        found = {layer: reads.decided(layer, SHADOW, PAGES) for layer in layers}
    return tuple(
        values.ShadowedLayer(
            layer,
            counts[layer],
            pages=() if layer == LAYER else tuple(values.ShadowedPage(url, reason) for _, reason, url in found[layer]),
            samples=tuple(_samples(project, settings, [key for key, *_ in found[layer]])) if layer == LAYER else (),
        )
        for layer in layers
    )


def _counts(runs: Sequence[StoredRun], layer: str) -> dict[str, int]:
    sums: Counter[str] = Counter()
    prefix = f"{_PREFIX}{layer}/"
    for run in runs:
        for name, number in run.stats.items():
            if name.startswith(prefix) and isinstance(number, int):
                sums[name.removeprefix(prefix)] += number
    return {name: sums[name] for name in sorted(sums) if sums[name]}


def _samples(project: ProjectStore, settings: Settings, keys: Sequence[bytes]) -> Iterator[values.SamplePage]:
    shown = 0
    for key in keys:
        page = project.page(key)
        if page is not None and page.source is not None and shown < SAMPLES:
            shown += 1
            yield sample_page(project, settings, page.source, SHADOW)
