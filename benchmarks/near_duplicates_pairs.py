"""Real aliases, canonical pairs and re-crawls, cleaned as a crawl would: which pairs are found, which wrongly?

All pairs of pages of one folder and host are judged. The oracle is the exact Jaccard similarity of the cleaned texts,
pair by pair. Two pages are of one document if pairs.jsonl pairs them, be it by way of a third; *equal* are the pairs
that it calls so (`gold_equal`), *changed* the others.
Where the corpus has selectors of the host's main content, pairs of two documents are held against the similarity of
their true main texts: wrong is a pair found whose true texts are less alike than the threshold.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from time import process_time
from typing import Any

from datasketch import MinHash, MinHashLSH
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpus import decode, sites
from scrapy_dedup.core.duplicates import promising, resemblance, shingles, sketch_of
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.service.templates.site_knowledge import learn_site
from scrapy_dedup.settings import Settings

THRESHOLDS = (0.8, 0.9)
_SLOTS = 128
_UNSEEN = "script, style, noscript, template, svg, iframe, select, button"

Sets = Sequence[frozenset[str]]
Pairs = dict[tuple[int, int], float]


@dataclass(slots=True)
class _Group:
    """Pages of a folder and host."""

    name: str
    texts: Sets
    live: Sets
    """The same, cut by the templates that the site taught even if their trial failed and a crawl takes the fallback."""
    truths: list[frozenset[str] | None]
    same: set[tuple[int, int]]
    """Pairs that pairs.jsonl calls equal."""
    changed: dict[tuple[int, int], float]
    """Pairs that it calls different, with the similarity of their main texts."""
    documents: list[int] = field(default_factory=list)


def measure(data: Path) -> dict[str, Any]:
    """Return the figures of each threshold, over all groups."""
    groups = [group for folder in sorted(data.glob("*/pairs.jsonl")) for group in _groups(folder.parent)]
    print(f"{sum(len(group.texts) for group in groups)} pages in {len(groups)} groups")
    exact = [_exact(group.texts) for group in groups]
    figures: dict[str, Any] = {}
    methods: dict[str, _Method] = {"ours": _ours, "datasketch": _datasketch, "datasketch, estimate": _estimated}
    for threshold in THRESHOLDS:
        true = [{pair for pair, alike in pairs.items() if alike >= threshold} for pairs in exact]
        found = {name: [_timed(method, group.texts, threshold) for group in groups] for name, method in methods.items()}
        rows = {
            name: _score([pairs for pairs, _ in of], true, groups, sum(at for _, at in of))
            for name, of in found.items()
        }
        print(f"at {threshold}: {sum(map(len, true))} pairs of {sum(_all(group) for group in groups)}")
        for name, row in rows.items():
            print(f"    {name:24}" + "  ".join(f"{key} {value:.4g}" for key, value in row.items()))
        documents = _documents(groups, [set(pairs) for pairs, _ in found["ours"]], exact, threshold)
        print("    " + json.dumps(documents))
        figures[str(threshold)] = {"pairs": sum(map(len, true)), "methods": rows} | documents
    return figures


def _all(group: _Group) -> int:
    return len(group.texts) * (len(group.texts) - 1) // 2


def _groups(folder: Path) -> Iterator[_Group]:
    lines = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    hosts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in lines:
        for side in "ab":
            hosts[line[side]["url"].split("/")[2]][line[side]["file"]] = line[side]["url"]
    golds = {manifest["domain"]: manifest["gold"] for manifest, _ in sites(folder.parent.parent / "corpus")}
    for host, urls in sorted(hosts.items()):
        pages = {file: decode((folder / file).read_bytes()) for file in urls}
        found = list(_cleaned(host, [(urls[file], html) for file, html in pages.items()]))
        texts, live = [shingles(one) for one, _ in found], [shingles(other) for _, other in found]
        truths = [_true_text(html, golds.get(host)) for html in pages.values()]
        at = {file: number for number, file in enumerate(pages)}
        same, changed = set(), {}
        for line in lines:
            if line["a"]["file"] in at and line["a"]["file"] != line["b"]["file"]:
                one, other = sorted((at[line["a"]["file"]], at[line["b"]["file"]]))
                if line["gold_equal"]:
                    same.add((one, other))
                else:
                    changed[one, other] = line["jaccard5"]
        yield _Group(
            f"{folder.name} {host}", texts, live, truths, same, changed, _classes(len(texts), same | changed.keys())
        )


def _cleaned(host: str, pages: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each page's text as a crawl would clean it, and as it were if every template that it learned were live."""
    settings = Settings.read({"DEDUP_OUTPUT": "text"})
    knowledge = learn_site(host, pages, settings)
    templates = {layout: replace(template, state="live") for layout, template in knowledge.templates.items()}
    live = replace(knowledge, templates=templates)
    for url, html in pages:
        one, other = (clean_page(html, url, known, settings).cleaned.content for known in (knowledge, live))
        yield one, other


def _true_text(html: str, gold: dict[str, Any] | None) -> frozenset[str] | None:
    """Return the shingles of what the manifest's selectors name."""
    if gold is None:
        return None
    tree = LexborHTMLParser(html)
    for node in tree.css(", ".join([*gold.get("exclude", []), *gold.get("neutral", []), _UNSEEN])):
        node.decompose()
    return shingles("\n".join(node.text(separator=" ") for node in tree.css(gold["main"]))) or None


def _classes(count: int, pairs: set[tuple[int, int]]) -> list[int]:
    """Return the document that each page belongs to: pages of one address, or of aliases of it."""
    found = list(range(count))
    for one, other in sorted(pairs):
        first, second = sorted((found[one], found[other]))
        found = [first if number == second else number for number in found]
    return found


_Method = Callable[[Sets, float], set[tuple[int, int]]]


def _timed(method: _Method, texts: Sets, threshold: float) -> tuple[set[tuple[int, int]], float]:
    start = process_time()
    found = method(texts, threshold)
    return found, process_time() - start


def _exact(texts: Sets) -> Pairs:
    """Return the similarity of all pairs that have any."""
    found = {pair: resemblance(texts[pair[0]], texts[pair[1]]) for pair in combinations(range(len(texts)), 2)}
    return {pair: alike for pair, alike in found.items() if alike > 0}


def _ours(texts: Sets, threshold: float) -> set[tuple[int, int]]:
    sketches = [sketch_of(text, b"benchmark") for text in texts]
    by_band: defaultdict[int, list[int]] = defaultdict(list)
    found = set()
    for number, mine in enumerate(sketches):
        if mine is None:
            continue
        others = {other: sketches[other] for band in mine.bands for other in by_band[band]}
        number_of = {id(sketch): other for other, sketch in others.items()}
        candidates = [sketch for sketch in others.values() if sketch is not None]
        for sketch in promising(mine, candidates, threshold, len(candidates)):
            other = number_of[id(sketch)]
            if resemblance(texts[number], texts[other]) >= threshold:
                found.add((other, number))
        for band in mine.bands:
            by_band[band].append(number)
    return found


def _datasketch(texts: Sets, threshold: float) -> set[tuple[int, int]]:
    return _theirs(texts, threshold, verify=False)


def _estimated(texts: Sets, threshold: float) -> set[tuple[int, int]]:
    return _theirs(texts, threshold, verify=True)


def _theirs(texts: Sets, threshold: float, *, verify: bool) -> set[tuple[int, int]]:
    index, found, hashes = MinHashLSH(threshold=threshold, num_perm=_SLOTS), set(), []
    for number, text in enumerate(texts):
        minhash = MinHash(num_perm=_SLOTS)
        minhash.update_batch([shingle.encode() for shingle in sorted(text)])
        hashes.append(minhash)
        for other in index.query(minhash):
            if not verify or minhash.jaccard(hashes[other]) >= threshold:
                found.add((other, number))
        index.insert(number, minhash)
    return found


def _score(
    found: list[set[tuple[int, int]]], true: list[set[tuple[int, int]]], groups: list[_Group], seconds: float
) -> dict[str, float]:
    right = sum(len(one & other) for one, other in zip(found, true, strict=True))
    precision = right / max(1, sum(map(len, found)))
    recall = right / max(1, sum(map(len, true)))
    pages = sum(len(group.texts) for group in groups)
    f1 = 2 * precision * recall / (precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1, "pages_a_second": pages / seconds}


def _documents(
    groups: list[_Group], found: list[set[tuple[int, int]]], exact: list[Pairs], threshold: float
) -> dict[str, Any]:
    """Return what was found of pages of one document, and which pairs of two documents were."""
    equal: Counter[str] = Counter()
    missed, differing = [], Counter[str]()
    wrong: list[tuple[float, float, str]] = []
    for group, pairs, alike in zip(groups, found, exact, strict=True):
        kind = group.name.split()[0]
        equal[f"{kind}: pairs"] += len(group.same)
        equal[f"{kind}: found"] += len(group.same & pairs)
        equal[f"{kind}: if live"] += sum(
            resemblance(group.live[one], group.live[other]) >= threshold for one, other in group.same
        )
        missed += [(group.name, round(alike.get(pair, 0.0), 3)) for pair in sorted(group.same - pairs)]
        for one, other in sorted(pairs):
            of_one = group.documents[one] == group.documents[other]
            if of_one and (one, other) not in group.changed:
                continue
            truths = group.truths[one], group.truths[other]
            true = group.changed.get((one, other)) if of_one else None
            if truths[0] is not None and truths[1] is not None:
                true = resemblance(truths[0], truths[1])
            differing["changed pairs found" if of_one else "pairs of two documents found"] += 1
            if true is None:
                differing["of these without known main text"] += 1
            elif true < threshold:
                wrong.append((round(true, 3), round(alike[one, other], 3), group.name))
    total, got, live = (sum(equal[name] for name in equal if name.endswith(end)) for end in ("pairs", "found", "live"))
    return {
        "equal_found": got / total,
        "equal_found_if_templates_were_live": live / total,
        "equal": dict(equal),
        "missed": Counter(f"{name} {alike}" for name, alike in missed).most_common(20),
        "differing": dict(differing),
        "wrong": len(wrong),
        "worst_wrong": sorted(wrong)[:10],
    }
