"""Is a page still what it was? Two versions of its main text to a verdict, with the class of the change."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from difflib import unified_diff as _unified_diff
from enum import StrEnum
from itertools import accumulate, takewhile
from typing import Final

from msgspec import Struct, field

from scrapy_dedup.core.recrawl.passages import MainText, Passage, number_key, number_keys


class VerdictKind(StrEnum):
    """What is told of a page that was found."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class Change(StrEnum):
    """Of what class the difference between two versions is, gravest first."""

    CONTENT = "content"
    NUMBERS = "numbers"  # nothing but numbers and dates: prices, phone numbers
    TITLE = "title"  # the title alone
    VOLATILE = "volatile"  # dates and counters proven to churn
    BOILERPLATE_ONLY = "boilerplate_only"
    NONE = "none"


class ChangePolicy(Struct, frozen=True):
    """What counts as changed."""

    classes: frozenset[Change] = frozenset({Change.CONTENT, Change.TITLE, Change.NUMBERS})


DEFAULT_POLICY: Final = ChangePolicy()


class Verdict(Struct, frozen=True):
    """What became of a page, and why."""

    kind: VerdictKind
    change: Change
    reason: str


NEW: Final = Verdict(VerdictKind.NEW, Change.NONE, "seen for the first time")

# A design is another one when less than half of the text stands where it stood.
_SAME_DESIGN: Final = 0.5
# Text that both designs show is content; a little of it may be chrome that nobody knew.
_CONTENT_SHARE: Final = 0.98
# What a new frame may say around a page of next to no text.
_FRAME_CHARS: Final = 200
_EXCERPT_CHARS: Final = 80

_DIFF_LINES: Final = 1_000
_DIFF_LINE_CHARS: Final = 500
_DIFF_CHARS: Final = 20_000


def compare(
    old: MainText, new: MainText, policy: ChangePolicy = DEFAULT_POLICY, volatile: AbstractSet[int] = frozenset()
) -> Verdict:
    """Return whether two versions of a page, both seen under today's knowledge, have the same main text.

    Order of words and case count, white space and its place in paragraphs do not.

    Args:
        old: the version that was seen last.
        new: today's.
        policy: which classes of change count.
        volatile: number keys of passages whose numbers are proven to churn, see `NumberChurn`.
    """
    before, after = _differing(old, new)
    titles = _trimmed(old.title, new.title)
    found = {_class_of(before, after, volatile)}
    of_title = _class_of(_without_furniture(titles[0], new), _without_furniture(titles[1], old), volatile)
    found.add(Change.TITLE if of_title in (Change.CONTENT, Change.NUMBERS) else of_title)
    if (old.passages, old.title, old.rest) != (new.passages, new.title, new.rest):
        found.add(Change.BOILERPLATE_ONLY)
    verdict = verdict_of(found, policy)
    if verdict.change in (Change.BOILERPLATE_ONLY, Change.NONE):
        return verdict
    differing = titles if verdict.change is Change.TITLE or not (before or after) else (before, after)
    return Verdict(verdict.kind, verdict.change, verdict.reason + _first_difference(*differing))


def verdict_of(found: AbstractSet[Change], policy: ChangePolicy) -> Verdict:
    """Return what is told of a page in which these classes of change were found: the gravest that counts."""
    change = next(change for change in Change if change in (found & policy.classes or found))
    kind = VerdictKind.CHANGED if change in policy.classes else VerdictKind.UNCHANGED
    return Verdict(kind, change, _REASONS[change])


def unified_diff(old: MainText, new: MainText) -> str:
    """Return the changed passages as a unified diff; a line a passage, more for code and where it is long; bounded."""
    before, after = (
        [line[at : at + _DIFF_LINE_CHARS] for line in _lines(side) for at in range(0, len(line) or 1, _DIFF_LINE_CHARS)]
        for side in _differing(old, new)
    )
    lines = list(_unified_diff(before[:_DIFF_LINES], after[:_DIFF_LINES], "old", "new", n=0, lineterm=""))
    if len(before) > _DIFF_LINES or len(after) > _DIFF_LINES:
        lines.append("...")
    fitting = sum(1 for _ in takewhile(lambda chars: chars <= _DIFF_CHARS, accumulate(len(line) + 1 for line in lines)))
    return "\n".join(lines if fitting == len(lines) else [*lines[:fitting], "..."])


def _lines(passages: Sequence[Passage]) -> list[str]:
    return [line for one in passages for line in one.text.splitlines()]


class Moves(Struct, frozen=True):
    """What the numbers of a page did between two versions, as number keys."""

    changed: frozenset[int] = frozenset()
    """Passages of which the numbers changed and nothing else."""
    still: frozenset[int] = frozenset()
    """Passages with numbers that stayed as they were."""


def moves(old: MainText, new: MainText) -> Moves:
    """Return which passages changed in their numbers alone; prices and phone numbers are never among them."""
    before, after = ({*side.title, *side.passages} for side in (old, new))
    both = before & after
    left, came = (number_keys(one[:2] for one in side - both) for side in (before, after))
    return Moves(left & came, number_keys(one[:2] for one in both))


class NumberChurn(Struct):
    """Counts of what the numbers of a site's pages did between two crawls: a date that moved on all is no news.

    Bounded: beyond *most* passages new ones are not counted.
    """

    most: int = 100_000
    changed: Counter[int] = field(default_factory=Counter)
    still: Counter[int] = field(default_factory=Counter)

    def add(self, found: Moves) -> None:
        """Count one page."""
        for counts, keys in ((self.changed, found.changed), (self.still, found.still)):
            counts.update(key for key in keys if key in counts or len(counts) < self.most)

    def volatile(self, elsewhere: int = 0) -> frozenset[int]:
        """Return the passages whose numbers changed on most pages that have them, and on three at least.

        Args:
            elsewhere: pages that did not change and were not seen: any of them may have it.
        """
        return frozenset(
            key
            for key, changed in self.changed.items()
            if changed >= 3 and changed >= 0.7 * (changed + self.still[key] + elsewhere)
        )


def _differing(old: MainText, new: MainText) -> tuple[Sequence[Passage], Sequence[Passage]]:
    """Return what of both is compared, from the first passage that differs to the last; nothing where none does."""
    menus = old.menus | new.menus
    sides = []
    for side in (old, new):
        own = [one for one in side.passages if not (one.is_link and one.path in menus)]
        sides.append(own or list(side.passages))
    before, after = _trimmed(*sides)
    if (before or after) and _is_other_design(*sides):
        before, after = _trimmed(*_in_the_same_place(*sides))
    return _trimmed(_without_furniture(before, new), _without_furniture(after, old))


def _trimmed(before: Sequence[Passage], after: Sequence[Passage]) -> tuple[Sequence[Passage], Sequence[Passage]]:
    start = _common_start(before, after)
    before, after = before[start:], after[start:]
    end = _common_start(before[::-1], after[::-1])
    return before[: len(before) - end], after[: len(after) - end]


def _common_start(before: Sequence[Passage], after: Sequence[Passage]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0].form == pair[1].form, zip(before, after, strict=False)))


def _without_furniture(passages: Sequence[Passage], other: MainText) -> Sequence[Passage]:
    """Return what is not the other version's boilerplate with other numbers: "© 2024" before all pages have it."""
    return [one for one in passages if number_keys([one[:2]]).isdisjoint(other.furniture)]


def _class_of(before: Sequence[Passage], after: Sequence[Passage], volatile: AbstractSet[int]) -> Change:
    if _joined(before) == _joined(after):
        return Change.NONE
    if volatile and _joined(before, volatile) == _joined(after, volatile):
        return Change.VOLATILE
    masked = ("".join(one.masked for one in side) for side in (before, after))
    return Change.NUMBERS if next(masked) == next(masked) else Change.CONTENT


def _joined(passages: Sequence[Passage], volatile: AbstractSet[int] = frozenset()) -> str:
    if not volatile:
        return "".join(one.form for one in passages)
    return "".join(one.masked if number_key(one.path, one.text) in volatile else one.form for one in passages)


def _is_other_design(before: Sequence[Passage], after: Sequence[Passage]) -> bool:
    """Whether most text stands at paths that the other version does not have."""
    before_paths, after_paths = {one.path for one in before}, {one.path for one in after}
    return (
        _share_at(before, after_paths) < _SAME_DESIGN and _share_at(after, before_paths) < _SAME_DESIGN
    )  # fmt: skip


def _share_at(passages: Sequence[Passage], paths: AbstractSet[str]) -> float:
    chars = sum(len(one.text) for one in passages)
    return sum(len(one.text) for one in passages if one.path in paths) / chars if chars else 1.0


def _in_the_same_place(before: list[Passage], after: list[Passage]) -> tuple[list[Passage], list[Passage]]:
    """Return both versions without what stands outside the element that holds their common text.

    Content is what a redesign leaves alone; what stands around it is the old and the new design's.
    """
    common = {one.form for one in before} & {one.form for one in after}
    sides = []
    for side in (before, after):
        container = _container([one for one in side if one.form in common and not one.is_link])
        held = [one for one in side if f"{one.path}>".startswith(container)]
        # A heading that both versions have does not make the frame of a page of what stands below it.
        left_out = _chars(side) - _chars(held)
        sides.append(held if left_out <= max(_chars(held), _FRAME_CHARS) else side)
    return sides[0], sides[1]


def _chars(passages: Sequence[Passage]) -> int:
    return sum(len(one.text) for one in passages if not one.is_link)


def _container(passages: Sequence[Passage]) -> str:
    """Return the deepest path, with a final `>`, below which nearly all text stands; "" where there is none."""
    chars: Counter[str] = Counter()
    for one in passages:
        steps = one.path.split(">")[:-1]
        for path in accumulate(f"{step}>" for step in steps):
            chars[path] += len(one.text)
    enough = _CONTENT_SHARE * sum(len(one.text) for one in passages)
    return max((path for path, held in chars.items() if held >= enough), key=lambda path: (len(path), path), default="")


_REASONS: Final = {
    Change.CONTENT: "main text differs",
    Change.NUMBERS: "main text differs in numbers alone",
    Change.TITLE: "title differs",
    Change.VOLATILE: "nothing but dates or counters that churn differs",
    Change.BOILERPLATE_ONLY: "main text is the same, boilerplate differs",
    Change.NONE: "main text is the same",
}


def _first_difference(before: Sequence[Passage], after: Sequence[Passage]) -> str:
    """Return the first passages that differ, for people, from shortly before they do."""
    was, now = (side[0].text if side else "" for side in (before, after))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    start = max(0, same - _EXCERPT_CHARS // 2)
    was, now = (text[start : start + _EXCERPT_CHARS] for text in (was, now))
    return f": {was!r} became {now!r}"
