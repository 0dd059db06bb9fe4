"""The ledger: what each layer spared, of one run and of all, from the counts that runs leave and from the store."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.runs import ELAPSED
from scrapy_dedup.core.urls.normal_form import split_url
from scrapy_dedup.report.values import (
    AliasGroup,
    Amounts,
    Cost,
    Ledger,
    LedgerCheck,
    LedgerRow,
    LedgerTable,
    SharedChunk,
)
from scrapy_dedup.settings import LAYERS, Settings
from scrapy_dedup.store.pages.reads import DroppedPages, Reads, StoredAlias, StoredShare
from scrapy_dedup.store.records.stored import StoredRun
from scrapy_dedup.store.writer import ProjectStore

Counts = Mapping[str, float]
"""By the names of a crawl's stats without `dedup/`; a name that is not there is 0."""

PREVENTS: Final = {
    "domain": "requests to blacklisted domains, and by policy to those of low quality",
    "url": "the second URL of one page",
    "title": "pages with the title and the text of another",
    "canonical": "other addresses of a page, by redirect and canonical link",
    "unchanged": "work on pages that did not change",
    "boilerplate": "blocks that repeat on the pages of a domain",
    "patterns": "blocks that selectors and expressions name",
    "duplicate": "pages with the clean text of another",
    "near_duplicate": "pages that are nearly like another",
    "chunk": "passages that the page, or another, has already",
    "language": "passages in languages that are not wanted",
}
"""What each layer prevents, in the order in which they act."""

_METHODS: Final = {
    "domain": "registry of domains",
    "url": "normal form of the URL",
    "title": "title, then text",
    "canonical": "canonical link or redirect, then text",
    "unchanged": "validators, then hash of the main text",
    "boilerplate": "template of the layout",
    "patterns": "CSS, XPath, regular expressions",
    "duplicate": "hash of the clean text",
    "near_duplicate": "MinHash, then exact Jaccard",
    "chunk": "SHA-256 of the passage",
    "language": "language detector",
}
_DROPPING: Final = ("url", "title", "canonical", "duplicate", "near_duplicate")
_CUTTING: Final = ("boilerplate", "patterns")
_CHUNKING: Final = ("chunk", "language")
# Why items do not reach the layers: their callback's output is left out.
_BEFORE_ITEMS: Final = ("soft_404/items", "directives/items")
_CHARS_A_TOKEN: Final = 4
SECONDS: Final = "seconds/"


class Tokens(Struct, frozen=True):
    """How characters become tokens.

    Attributes:
        per_char: tokens of one character.
        by: how that is known, in words.
    """

    per_char: float
    by: str
    is_estimate: bool

    def of(self, chars: float) -> int:
        """Return how many tokens characters make."""
        return round(chars * self.per_char)


def estimated() -> Tokens:
    """Return the tokens of texts that no tokenizer has seen."""
    return Tokens(1 / _CHARS_A_TOKEN, f"an estimate, {_CHARS_A_TOKEN} characters each", is_estimate=True)


def make_table(counts: Counts, tokens: Tokens, settings: Settings, dropped: Mapping[str, DroppedPages]) -> LedgerTable:
    """Return the table of some counts.

    The counts are those of one run, or sums over several; *dropped* is what is known of the pages that stand for those
    which were left out, by layer.
    """
    items = _whole(counts, "items/in")
    left_before = sum(_whole(counts, name) for name in _BEFORE_ITEMS)
    before = _whole(counts, "pages/chars_in")
    after = _whole(counts, "pages/chars_out")
    gone = _whole(counts, "items/dropped")
    rows = tuple(_row(layer, counts, tokens, settings, dropped.get(layer)) for layer in LAYERS)
    about = [row for row in rows if row.is_about]
    costs = [Cost(name.removeprefix(SECONDS), number) for name, number in counts.items() if name.startswith(SECONDS)]
    return LedgerTable(
        rows=rows,
        before=Amounts(items + left_before, _whole(counts, "chunks/in"), before, tokens.of(before)),
        after=Amounts(items - gone, _whole(counts, "chunks/out"), after, tokens.of(after)),
        about=Amounts(
            items=0,
            chunks=sum(row.chunks or 0 for row in about),
            chars=sum(row.chars or 0 for row in about),
            tokens=sum(row.tokens or 0 for row in about),
        ),
        checks=checks_of(counts),
        costs=tuple(sorted(costs, key=lambda one: (-one.seconds, one.name))),
    )


def checks_of(counts: Counts) -> tuple[LedgerCheck, ...]:
    """Return the counts that must agree; what does not is a defect, or a crawl that was killed."""
    out = _whole(counts, "items/out")
    passed = _whole(counts, "items/tombstones") + _sum(counts, "left/") + _sum(counts, "errors/")
    gone = _whole(counts, "items/dropped")
    by_others = sum(_whole(counts, f"{layer}/dropped") for layer in (*_DROPPING, "unchanged") if layer != "url")
    # What `url` drops are items and links: of items it may have dropped what no other layer did.
    by_url = min(max(gone - by_others, 0), _whole(counts, "url/dropped"))
    left_out = sum(_whole(counts, f"{layer}/chunks") for layer in _CHUNKING)
    return (
        LedgerCheck("items that came in = given + dropped", out + passed + gone, _whole(counts, "items/in")),
        LedgerCheck("items dropped = sum of the layers", by_others + by_url, gone),
        LedgerCheck("chunks = given + left out", _whole(counts, "chunks/out") + left_out, _whole(counts, "chunks/in")),
    )


def _row(layer: str, counts: Counts, tokens: Tokens, settings: Settings, dropped: DroppedPages | None) -> LedgerRow:
    row = LedgerRow(layer, PREVENTS[layer], _method(layer, settings))
    if layer in _CHUNKING:
        chars = _whole(counts, f"{layer}/chars")
        return replace(row, chunks=_whole(counts, f"{layer}/chunks"), chars=chars, tokens=tokens.of(chars))
    if layer in _CUTTING:
        pages, blocks, chars = (_whole(counts, f"{layer}/{what}") for what in ("pages", "blocks", "chars"))
        return replace(row, pages=pages, blocks=blocks, chars=chars, tokens=tokens.of(chars))
    if layer == "unchanged":
        return replace(row, pages=_whole(counts, "unchanged/unchanged"), note=_unchanged_note(counts))
    pages = _whole(counts, f"{layer}/dropped")
    note = _dropping_note(layer, counts)
    if not pages or dropped is None or not dropped.pages:
        return replace(row, pages=pages, note=note)
    share = pages / dropped.pages
    chars = round(dropped.chars * share)
    chunks = round(dropped.chunks * share)
    return replace(row, pages=pages, chunks=chunks, chars=chars, tokens=tokens.of(chars), is_about=True, note=note)


def _method(layer: str, settings: Settings) -> str:
    if layer == "near_duplicate":
        return f"{_METHODS[layer]} {settings.near_duplicate_jaccard:g}"
    if layer == "boilerplate" and settings.boilerplate_method in ("html", "text"):
        return "blocks on enough pages"
    if layer == "language" and settings.languages:
        return f"{settings.language_detector} detector, wanted: {', '.join(sorted(settings.languages))}"
    return _METHODS[layer]


def _unchanged_note(counts: Counts) -> str:
    told = (
        (_whole(counts, "reuse/callbacks_saved"), "callbacks not run"),
        (_whole(counts, "unchanged/dropped"), "items left out"),
    )
    return ", ".join(f"{number:,} {what}" for number, what in told if number)


def _dropping_note(layer: str, counts: Counts) -> str:
    if layer == "near_duplicate" and (marked := _whole(counts, "near_duplicate/marked")):
        return f"{marked:,} more were only marked"
    if layer == "title" and (skipped := _whole(counts, "title/skipped")):
        return f"{skipped:,} more were not even fetched"
    if layer == "canonical" and (redirects := _whole(counts, "canonical/redirects")):
        return f"{redirects:,} redirects noted"
    return ""


def _whole(counts: Counts, name: str) -> int:
    return int(counts.get(name, 0))


def _sum(counts: Counts, prefix: str) -> int:
    return sum(int(number) for name, number in counts.items() if name.startswith(prefix))


PREFIX: Final = "dedup/"
ALIAS_GROUPS: Final = 20
SHARED_CHUNKS: Final = 10
# Of so many addresses the patterns are right; more would not fit into memory on every machine.
_MOST_ALIASES: Final = 200_000
_KEEPERS: Final = 3
_OTHERS: Final = 3

ANY: Final = "*"
# A folder with more names in it is a list of things, and none of them says anything.
_MOST_NAMES: Final = 12
_MOST_PARAMETERS: Final = 3
# What stands last in an address is the page's own, unless others end so, too: `/a/print`, `/b/print`.
_LEAST_ENDS: Final = 2
_LONGEST_STEP: Final = 60
_MOST_STEPS: Final = 12

Path = tuple[str, ...]


def make_ledger(
    project: ProjectStore,
    settings: Settings,
    runs: Sequence[StoredRun],
    chosen: StoredRun | None,
    *,
    lists: bool = True,
) -> Ledger | None:
    """Return what deduplication spared; None where no run left counts.

    *runs* are those of the project, newest first. Reported on is the *chosen* one; None: the last one, with the sum
    over all. *lists*: with domains, aliases and shared chunks, each of which reads the whole project.

    Raises:
        StoreError: the store failed.
    """
    counted = [run for run in runs if counts_of_run(run)]
    shown = chosen or next(iter(counted), None)
    if shown is None:
        return None
    with project.session(read_only=True) as session:
        of_run = Reads(session, project.id, shown.id).dropped()
        reads = Reads(session, project.id, chosen.id if chosen is not None else None)
        # Without a tokenizer the sizes say nothing, and there may be millions of them.
        sizes = reads.chunk_sizes() if settings.chunk_tokenizer else (0, 0)
        tokens = tokens_of(settings, *sizes)
        table = _table([shown], tokens, settings, of_run)
        several = chosen is None and len(counted) > 1
        all_runs = _table(counted, tokens, settings, reads.dropped()) if several else None
        told = Ledger(run=table, all_runs=all_runs, tokens_by=tokens.by, is_estimate=tokens.is_estimate)
        return _with_lists(told, reads) if lists else told


def _with_lists(ledger: Ledger, reads: Reads) -> Ledger:
    """Return the ledger with what is stored now."""
    return replace(
        ledger,
        domains=tuple(reads.ledger_domains()),
        aliases=tuple(group_aliases(reads.aliases(_MOST_ALIASES))[:ALIAS_GROUPS]),
        shared=tuple(_shared(one) for one in reads.shared(SHARED_CHUNKS)),
    )


def counts_of_run(run: StoredRun) -> dict[str, float]:
    """Return what a run counted, by the names of its stats without `dedup/`."""
    return {
        name.removeprefix(PREFIX): number
        for name, number in run.stats.items()
        if name.startswith(PREFIX) and isinstance(number, int | float)
    }


def tokens_of(settings: Settings, size: int, chars: int) -> Tokens:
    """Return how characters become tokens.

    *size* is that of all stored chunks together, as it was measured when they were made, *chars* their characters.
    """
    # Equal figures are characters: the chunks were made before there was a tokenizer.
    if not settings.chunk_tokenizer or not size or size == chars:
        return estimated()
    by = f"{settings.chunk_tokenizer} counted {size:,} for the {chars:,} characters of the stored chunks; in proportion"
    return Tokens(size / chars, by, is_estimate=False)


def _table(
    runs: Sequence[StoredRun], tokens: Tokens, settings: Settings, dropped: Mapping[str, DroppedPages]
) -> LedgerTable:
    seconds = (run.stats.get(ELAPSED, 0.0) for run in runs)
    elapsed = sum(one for one in seconds if isinstance(one, int | float))
    began = min(run.started_at for run in runs)
    table = make_table(sums_of(runs), tokens, settings, dropped)
    table = replace(table, runs=len(runs), began_at=began, elapsed_seconds=elapsed)
    ended = [run for run in runs if run.finished_at is not None]
    # What is under way, or was when a run was killed, is counted on one side alone.
    return table if len(ended) == len(runs) else replace(table, checks=checks_of(sums_of(ended)))


def sums_of(runs: Iterable[StoredRun]) -> Counter[str]:
    """Return what runs counted together, see `counts_of_run`."""
    sums: Counter[str] = Counter()
    for run in runs:
        for name, number in counts_of_run(run).items():
            sums[name] += number  # type: ignore[assignment]  # seconds are fractions
    return sums


def _shared(one: StoredShare) -> SharedChunk:
    keepers = tuple(url for url, gives in one.places if gives)
    others = tuple(url for url, gives in one.places if not gives)
    return SharedChunk(one.sample, one.chars, one.pages, keepers[:_KEEPERS], others[:_OTHERS])


class _Names(Struct):
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


class _Address(Struct, frozen=True):
    origin: str
    steps: Path
    parameters: str


def group_aliases(pairs: Iterable[StoredAlias]) -> list[AliasGroup]:
    """Return the groups, the largest first; the order of the pairs decides nothing.

    Folders of a path are named while a folder has few, the last step stands for itself where others share it, all else
    is `*`: `/node/2091` beside `/dr-jansen` becomes `/node/*` beside `/*`. Hosts are told where they differ. Both
    directions of a pair are one group.

    All pairs are held in memory.
    """
    read = sorted({(pair, _address(pair.url), _address(pair.target)) for pair in pairs}, key=lambda one: one[0])
    alias_names, target_names = _Names(), _Names()
    for _, alias, target in read:
        alias_names.note(alias.steps)
        target_names.note(target.steps)
    groups: defaultdict[tuple[str, str], dict[tuple[str, str], list[StoredAlias]]] = defaultdict(dict)
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


def _group(directions: dict[tuple[str, str], list[StoredAlias]]) -> AliasGroup:
    """Return a group, as most of its addresses have it."""
    (alias, target), most = min(directions.items(), key=lambda one: (-len(one[1]), one[0]))
    members = [pair for some in directions.values() for pair in some]
    found_by = Counter(pair.found_by for pair in members)
    by_count = dict(sorted(found_by.items(), key=lambda one: (-one[1], one[0])))
    return AliasGroup(alias, target, by_count, len(members), most[0].url, most[0].target)


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
