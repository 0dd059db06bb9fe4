"""Other addresses of pages, grouped by how they look beside the addresses of those pages."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scrapy_dedup.core.urls import split_url
from scrapy_dedup.report.ledger_values import AliasGroup

ANY: Final = "*"
# A folder with more names in it is a list of things, and none of them says anything.
_MOST_NAMES: Final = 12
_MOST_PARAMETERS: Final = 3
# What stands last in an address is the page's own, unless others end so, too: `/a/print`, `/b/print`.
_LEAST_ENDS: Final = 2
_LONGEST_STEP: Final = 60
_MOST_STEPS: Final = 12

Path = tuple[str, ...]


class Pair(NamedTuple):
    """An address, and that of the page which stands for it."""

    alias: str
    target: str
    found_by: str


@dataclass(slots=True)
class _Names:
    """Which steps of one side's addresses say what they are."""

    folders: defaultdict[Path, set[str]] = field(default_factory=lambda: defaultdict(set))
    ends: defaultdict[str, set[Path]] = field(default_factory=lambda: defaultdict(set))

    def note(self, steps: Path) -> None:
        """Take in the path of an address."""
        for depth, step in enumerate(steps[:-1]):
            names = self.folders[steps[:depth]]
            if len(names) <= _MOST_NAMES:
                names.add(step)
        parents = self.ends[steps[-1]]
        if len(parents) < _LEAST_ENDS:
            parents.add(steps[:-1])

    def path(self, steps: Path, counterpart: Path) -> str:
        """Return how an address looks beside its counterpart; the name that a page has in either says nothing."""
        own = {_name(steps), _name(counterpart)} if not steps[-1] else {_name(counterpart)}
        shown = [ANY if step in own else self._folder(steps[:depth], step) for depth, step in enumerate(steps[:-1])]
        return "/" + "/".join([*shown, self._end(steps[-1], _name(counterpart))])

    def _folder(self, above: Path, step: str) -> str:
        is_list = len(self.folders[above]) > _MOST_NAMES
        return ANY if is_list or step.isdigit() or len(step) > _LONGEST_STEP else step

    def _end(self, step: str, other_name: str) -> str:
        says_much = step != other_name and len(self.ends[step]) >= _LEAST_ENDS
        return step if not step or (says_much and not step.isdigit() and len(step) <= _LONGEST_STEP) else ANY


def _name(steps: Path) -> str:
    """Return the last step that is not empty."""
    return next((step for step in reversed(steps) if step), "")


@dataclass(frozen=True, slots=True)
class _Address:
    origin: str
    steps: Path
    parameters: str


def group_aliases(pairs: Iterable[Pair]) -> list[AliasGroup]:
    """Return the groups, the largest first; the order of the pairs decides nothing.

    Folders of a path are named while a folder has few, the last step stands for itself where others share it, all else
    is `*`: `/node/2091` beside `/dr-jansen` becomes `/node/*` beside `/*`. Hosts are told where they differ. Both
    directions of a pair are one group.

    Args:
        pairs: as many as are to be counted; all of them are held in memory.
    """
    read = sorted({(pair, _address(pair.alias), _address(pair.target)) for pair in pairs}, key=lambda one: one[0])
    alias_names, target_names = _Names(), _Names()
    for _, alias, target in read:
        alias_names.note(alias.steps)
        target_names.note(target.steps)
    groups: defaultdict[tuple[str, str], dict[tuple[str, str], list[Pair]]] = defaultdict(dict)
    for pair, alias, target in read:
        ours = alias_names.path(alias.steps, target.steps) + alias.parameters
        theirs = target_names.path(target.steps, alias.steps) + target.parameters
        if alias.origin != target.origin:
            ours, theirs = alias.origin + ours, target.origin + theirs
        # Which of two addresses stands for the page is often chance: whichever came first.
        both = (ours, theirs) if ours <= theirs else (theirs, ours)
        groups[both].setdefault((ours, theirs), []).append(pair)
    found = [_group(directions) for directions in groups.values()]
    return sorted(found, key=lambda one: (-one.count, one.alias, one.target))


def _group(directions: dict[tuple[str, str], list[Pair]]) -> AliasGroup:
    """Return a group, as most of its addresses have it."""
    (alias, target), most = min(directions.items(), key=lambda one: (-len(one[1]), one[0]))
    members = [pair for some in directions.values() for pair in some]
    found_by = Counter(pair.found_by for pair in members)
    by_count = dict(sorted(found_by.items(), key=lambda one: (-one[1], one[0])))
    return AliasGroup(alias, target, by_count, len(members), most[0].alias, most[0].target)


def _address(url: str) -> _Address:
    parts = split_url(url)
    if parts is None:
        return _Address("", (url[:_LONGEST_STEP],), "")
    steps: Sequence[str] = parts.path.removeprefix("/").split("/")
    if len(steps) > _MOST_STEPS:
        steps = [*steps[: _MOST_STEPS - 2], "…", steps[-1]]
    names = list(dict.fromkeys(pair.partition("=")[0] for pair in parts.query.split("&") if pair))
    shown = [f"{name[:_LONGEST_STEP]}={ANY}" for name in names[:_MOST_PARAMETERS]]
    if len(names) > _MOST_PARAMETERS:
        shown.append("…")
    return _Address(f"{parts.scheme}://{parts.authority}", tuple(steps), f"?{'&'.join(shown)}" if shown else "")
