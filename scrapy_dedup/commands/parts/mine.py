"""`scrapy dedup templates mine`: which kinds of pages are stored, what those of a kind share, and where they differ.

JSON: `project`; `domains`, by name, each with domain, pages, left_out (pages that are no HTML, or could not be parsed),
batches, and `clusters`, those with most pages first, each with layout (16 hex digits: its signature of level 1),
structure (level 2), pages, kind, reason (why it is called so), examples (URLs), url_pattern (null: no expression tells
its URLs from those of the other clusters), `common` (subtrees that are the same on nearly all pages) and `varying`,
those with most text first, each with path, pages (that have it), same (on which it is what it most often is), chars (on
a mean page), and for common ones text (how it begins, or null); with --all-domains also `families`, structures that
several domains share, each with structure, pages, kinds, and `domains` (domain, pages).

Nothing is written: what a crawl learns of layouts, `scrapy dedup templates layouts` lists.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from msgspec import Struct, field, to_builtins
from msgspec.structs import asdict
from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, WrongCallError, number, print_json
from scrapy_dedup.commands.terminal import output, print_table, progress, say, shown
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.fingerprints import to_digits
from scrapy_dedup.core.templates.layouts import LayoutIndex
from scrapy_dedup.core.templates.mining import Cluster, Family, MinedPage, Subtree, families, mine, split_subtrees
from scrapy_dedup.core.templates.url_patterns import url_pattern
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.service.policies import parse_limits
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import HTML_FIELDS
from scrapy_dedup.store.records.stored import StoredPage, StoredSource
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.writer import ProjectStore

_EXAMPLES: Final = 5
_SAMPLE_CHARS: Final = 160

Progress = Callable[[int], None]
"""Called with how many pages were read since the last call."""


class NothingToMineError(DedupError):
    """There is nothing to mine: the message says why, and what to do."""


class CommonSubtree(Subtree, frozen=True):
    """A subtree that is the same on nearly all pages, and how it begins there; None where nobody can tell."""

    text: str | None = None


class MinedCluster(Struct, frozen=True):
    """Pages of one layout, of all batches of a domain.

    Attributes:
        layout: its signature (L1), in digits.
        structure: the signature (L2) that most of its pages have.
        kind, reason: what it is called and why, as in the batch that has most of its pages.
        examples: URLs of typical pages.
        url_pattern: matches all its URLs and none of the domain's other clusters'.
        common, varying: subtrees, in the batch that has most of its pages.
    """

    layout: str
    structure: str
    pages: int
    kind: str
    reason: str
    examples: tuple[str, ...]
    url_pattern: str | None
    common: tuple[CommonSubtree, ...]
    varying: tuple[Subtree, ...]


class MinedDomain(Struct, frozen=True):
    """The clusters of a domain's stored pages, largest first.

    Attributes:
        pages: that were mined.
        left_out: pages that are no HTML, or too odd to be parsed.
        batches: in which they were mined.
    """

    domain: str
    pages: int
    left_out: int
    batches: int
    clusters: tuple[MinedCluster, ...]


class Mining(Struct, frozen=True):
    """What was mined of a project; families are structures that several of its domains share."""

    domains: tuple[MinedDomain, ...]
    families: tuple[Family, ...]


def pages_to_mine(project: ProjectStore, domain: str | None = None) -> dict[str, int]:
    """Return how many pages of each domain are kept, pages without items included.

    Raises:
        NoPagesError: none is, of the domain that was asked for or of all.
    """
    with project.session(read_only=True) as session:
        kept = dict(SourceRepository(session).get_domains_for_project(project.id, bare=True))
    if not kept:
        raise NothingToMineError(
            f"project {project.name!r} keeps no originals of its pages: crawl with DEDUP_KEEP_PAGES = latest, "
            "and mine after that"
        )
    if domain is None:
        return kept
    if domain not in kept:
        some = ", ".join(sorted(kept)[:_EXAMPLES])
        raise NothingToMineError(f"project {project.name!r} keeps no pages of {domain!r}: it has pages of {some}")
    return {domain: kept[domain]}


def mine_stored(
    project: ProjectStore, domains: Iterable[str], settings: Settings, progress: Progress, *, batch_pages: int
) -> Mining:
    """Mine the stored pages of domains, in batches: of so many pages what is needed of them is in memory at a time."""
    mined: list[MinedDomain] = []
    clusters: dict[str, list[Cluster]] = {}
    for domain in sorted(domains):
        miner = _Miner(domain)
        for sources, statuses in _batches(project, domain, batch_pages):
            miner.take(_parsed(sources, statuses, settings))
            progress(len(sources))
        mined.append(miner.result(project, settings))
        clusters[domain] = miner.clusters
    return Mining(tuple(mined), tuple(families(clusters)))


def _batches(project: ProjectStore, domain: str, size: int) -> Iterator[tuple[list[StoredSource], dict[bytes, int]]]:
    """Yield the pages of a domain and their HTTP statuses: as they come by key, each batch is a sample of them."""
    with project.session(read_only=True) as session:
        repository = SourceRepository(session)
        pages = repository.iterate(project.id, domain, bare=True)
        while batch := list(islice(pages, size)):
            yield batch, repository.http_statuses(project.id, [source.page_key for source in batch])


class _ParsedBatch(Struct):
    """One batch, parsed; texts are gone."""

    pages: list[MinedPage] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    left_out: int = 0


def _parsed(sources: Iterable[StoredSource], statuses: Mapping[bytes, int], settings: Settings) -> _ParsedBatch:
    limits, batch = parse_limits(settings), _ParsedBatch()
    for source in sources:
        is_html = source.field in HTML_FIELDS and source.content is not None
        page = parse_page(source.content or "", limits) if is_html else None
        if isinstance(page, Page):
            batch.pages.append(MinedPage.of(source.url, page, statuses.get(source.page_key, 200)))
            batch.keys.append(source.page_key)
        else:
            batch.left_out += 1
    return batch


class _Merged(Struct):
    """One layout's clusters of several batches."""

    structures: Counter[int] = field(default_factory=Counter)
    urls: list[str] = field(default_factory=list)
    largest: Cluster | None = None
    common: tuple[Subtree, ...] = ()
    varying: tuple[Subtree, ...] = ()
    examples: tuple[str, ...] = ()
    example_key: bytes = b""

    def add(self, cluster: Cluster, batch: _ParsedBatch) -> None:
        self.structures.update(dict(cluster.structures))
        self.urls += [batch.pages[index].url for index in cluster.pages]
        if self.largest is None or len(cluster.pages) > len(self.largest.pages):
            self.largest = cluster
            self.common, self.varying = split_subtrees(
                [[block[:3] for block in batch.pages[index].blocks] for index in cluster.pages]
            )
            self.examples = tuple(batch.pages[index].url for index in cluster.examples[:_EXAMPLES])
            self.example_key = batch.keys[cluster.examples[0]]


class _Miner:
    """Joins the clusters of a domain's batches: of one layout are those whose leading pages are like each other."""

    def __init__(self, domain: str) -> None:
        self.clusters: list[Cluster] = []
        self._domain = domain
        self._index = LayoutIndex()
        self._merged: defaultdict[int, _Merged] = defaultdict(_Merged)
        self._left_out = 0
        self._batches = 0

    def take(self, batch: _ParsedBatch) -> None:
        """Mine one batch."""
        self._batches += 1
        self._left_out += batch.left_out
        for found in mine(batch.pages):
            leader = next(
                batch.pages[at].skeleton for at in found.pages if batch.pages[at].skeleton.l1 == found.signature
            )
            layout = self._index.add(leader, len(found.pages)).signature
            self._merged[layout].add(found, batch)
            self.clusters.append(found)

    def result(self, project: ProjectStore, settings: Settings) -> MinedDomain:
        """Return what was found in all batches."""
        in_order = sorted(self._merged.items(), key=lambda item: (-len(item[1].urls), item[0]))
        clusters = tuple(self._joined(layout, merged, project, settings) for layout, merged in in_order)
        pages = sum(cluster.pages for cluster in clusters)
        return MinedDomain(self._domain, pages, self._left_out, self._batches, clusters)

    def _joined(self, layout: int, merged: _Merged, project: ProjectStore, settings: Settings) -> MinedCluster:
        largest = merged.largest
        assert largest is not None
        pattern = largest.url_pattern
        if self._batches > 1:
            others = [url for other, one in self._merged.items() if other != layout for url in one.urls]
            pattern = url_pattern(merged.urls, others)
        return MinedCluster(
            layout=to_digits(layout),
            structure=to_digits(min(merged.structures, key=lambda one: (-merged.structures[one], one))),
            pages=len(merged.urls),
            kind=str(largest.named.name),
            reason=largest.named.reason,
            examples=merged.examples,
            url_pattern=pattern,
            common=_with_texts(merged.common, project.page(merged.example_key), settings),
            varying=merged.varying,
        )


def _with_texts(
    subtrees: Iterable[Subtree], stored: StoredPage | None, settings: Settings
) -> tuple[CommonSubtree, ...]:
    """Return subtrees with how they read on a page."""
    source = stored.source if stored else None
    page = parse_page(source.content, parse_limits(settings)) if source and source.content is not None else None
    blocks = page.blocks if isinstance(page, Page) else ()
    found = []
    for subtree in subtrees:
        within = f"{subtree.path}>"
        texts = [block.text for block in blocks if block.path == subtree.path or block.path.startswith(within)]
        text = " ".join(" ".join(texts)[: 4 * _SAMPLE_CHARS].split())
        found.append(CommonSubtree(**asdict(subtree), text=text[:_SAMPLE_CHARS] or None))
    return tuple(found)


_MOST_BATCH: Final = 100_000
_CLUSTERS_SHOWN: Final = 20
_SUBTREES_SHOWN: Final = 3
_EXAMPLES_SHOWN: Final = 2
_FAMILY_DOMAINS_SHOWN: Final = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which pages, and how many at once."""
    add = parser.add_argument
    add("--domain", metavar="DOMAIN", help="only this one; without it every domain that has stored pages")
    add(
        "--batch",
        metavar="PAGES",
        type=number(_MOST_BATCH, "pages"),
        default=1_000,
        help="mine so many pages at once (1000)",
    )
    add("--all-domains", action="store_true", help="list the structures that several domains share")


def run(call: Call) -> int:
    """Mine, and print what was found."""
    options = call.options
    if options.domain and options.all_domains:
        raise WrongCallError("templates mine takes --domain or --all-domains: structures are shared by several domains")
    with call.opened() as project:
        known = pages_to_mine(project, call.domain(options.domain) if options.domain else None)
        with progress("pages", sum(known.values())) as advance:
            mining = mine_stored(project, known, call.settings, advance, batch_pages=options.batch)
    if options.json:
        found: dict[str, Any] = {"project": call.project, "domains": to_builtins(mining.domains)}
        print_json(found | ({"families": list(map(_family_json, mining.families))} if options.all_domains else {}))
    elif options.all_domains:
        _show_families(call, mining)
    else:
        for domain in mining.domains:
            _show(domain)
    return DONE


def _family_json(family: Family) -> dict[str, Any]:
    domains = [{"domain": domain, "pages": pages} for domain, pages in family.domains]
    return {"structure": to_digits(family.l2), "pages": family.pages, "kinds": list(family.names), "domains": domains}


def _show(domain: MinedDomain) -> None:
    left_out = f", {count(domain.left_out, 'page')} left out" if domain.left_out else ""
    batches = f" in {whole(domain.batches)} batches" if domain.batches > 1 else ""
    clusters = count(len(domain.clusters), "cluster")
    say(f"{domain.domain}: {count(domain.pages, 'page')}{batches}, {clusters}{left_out}", "bold")
    for cluster in domain.clusters[:_CLUSTERS_SHOWN]:
        _show_cluster(cluster, domain.pages)
    if rest := domain.clusters[_CLUSTERS_SHOWN:]:
        pages = sum(cluster.pages for cluster in rest)
        say("")
        say(f"and {count(len(rest), 'smaller cluster')} with {count(pages, 'page')}; --json lists them all")
    say("")


def _show_cluster(cluster: MinedCluster, pages: int) -> None:
    share = f"{whole(cluster.pages)} ({percent(cluster.pages, pages)})"
    head = Text.assemble((f"\n{cluster.kind}", "bold"), f"  {share}  ", (cluster.layout, "dim"))
    output().print(head, soft_wrap=True)
    _line("because", cluster.reason)
    if cluster.url_pattern:
        _line("URLs", cluster.url_pattern)
    for url in cluster.examples[:_EXAMPLES_SHOWN]:
        _line("such as", url)
    for subtree in cluster.common[:_SUBTREES_SHOWN]:
        _line("common", _last_steps(subtree.path) + (f": {subtree.text}" if subtree.text else ""))
    for one in cluster.varying[:_SUBTREES_SHOWN]:
        _line("varying", f"{_last_steps(one.path)}: {count(one.chars, 'character')} on a mean page")


def _line(what: str, text: str) -> None:
    output().print(Text.assemble((f"  {what:<9}", "dim"), shown(text, 300)), soft_wrap=True)


def _last_steps(path: str) -> str:
    """Return the end of a DOM path, which is what tells one from another."""
    steps = path.split(">")
    return " > ".join(["…", *steps[-3:]] if len(steps) > 4 else steps)


def _show_families(call: Call, mining: Mining) -> None:
    if not mining.families:
        say(f"No structure is shared by two of {count(len(mining.domains), 'domain')}.")
        return
    rows = []
    for family in mining.families:
        named = ", ".join(domain for domain, _ in family.domains[:_FAMILY_DOMAINS_SHOWN])
        more = len(family.domains) - _FAMILY_DOMAINS_SHOWN
        shared_by = f"{named} and {more} more" if more > 0 else named
        names = ", ".join(family.names)
        rows.append((to_digits(family.l2), names, shared_by, len(family.domains), family.pages))
    title = f"Structures that domains of project {call.project} share"
    print_table(title, "Structure, Kinds, Domains, Shared by, Pages", rows, texts=3)
