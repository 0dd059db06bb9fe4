"""What one page that a browser showed says of its DOM paths."""

from collections import defaultdict
from dataclasses import dataclass, field

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.numbering import Numbered
from scrapy_dedup.core.observations import MOST_BLOCKS, upper_part
from scrapy_dedup.core.path_looks import PathLooks
from scrapy_dedup.core.sight import Sight
from scrapy_dedup.core.vision_blocks import looks_of
from scrapy_dedup.core.vision_unseen import Unseen, unseen_text


@dataclass(frozen=True, slots=True)
class SeenPage:
    """One page, without its text; small, and it can be pickled."""

    paths: dict[str, PathLooks] = field(default_factory=dict)
    """By path, as `observe` has it."""
    static_chars: int = 0
    """Of what looks like content and stands in the page as it came."""
    scripted_chars: int = 0
    """Seen text that scripts made."""
    js_share: float = 0.0
    """Share of the seen text that scripts made."""
    unseen: tuple[Unseen, ...] = ()


def see(page: Page, numbered: Numbered, sight: Sight) -> SeenPage:
    """Return what a page looked like, by DOM path; of one whose style sheets did not come, only what scripts made."""
    if not sight.is_styled:
        return SeenPage(
            static_chars=sight.static_chars, scripted_chars=sight.scripted_chars, js_share=round(sight.js_share, 3)
        )
    looks = looks_of(page, numbered, sight)
    unseen = unseen_text(page, numbered, sight)
    hidden = {one.place for one in unseen}
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    # As many as an observation has, and the same.
    stride = -(-len(page.blocks) // MOST_BLOCKS) or 1
    for place in range(0, len(page.blocks), stride):
        block, number = page.blocks[place], numbered.of_blocks[place]
        chars = len(block.text)
        row = sums[upper_part(block.path)]
        if place in hidden:
            row[2] += chars
        elif number in looks.main:
            row[0] += chars
            row[1] += round(chars * looks.main[number])
    return SeenPage(
        paths={path: PathLooks(*row) for path, row in sums.items() if any(row)},
        static_chars=sum(row[1] for row in sums.values()),
        scripted_chars=sight.scripted_chars,
        js_share=round(sight.js_share, 3),
        unseen=tuple(unseen),
    )
