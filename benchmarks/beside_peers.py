"""Cleaned text of several methods beside each other, and beside the true main content: by site, and the mean of sites.

Each method is NAME=FILE, JSON lines of {url, cleaned_content}, as `scrapy dedup clean -s DEDUP_OUTPUT=text FOLDER -O
FILE` and `python -m benchmarks.peers FOLDER --pages 0 --lines FOLDER` write them. A page that is missing has no text;
with the file that `scrapy dedup clean --left-out FILE` writes, that of the page which stands for it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.words import Score, mean, score, truth, words

LOST, NOISY = 0.9, 0.8
"""Below these recalls and precisions a page lost content, or is full of noise."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a site, or the mean of some; loss and noise are shares of pages."""

    precision: float
    recall: float
    f1: float
    loss: float
    noise: float
    pages: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of sites, each with manifest.json")
    parser.add_argument("methods", nargs="+", metavar="NAME=FILE", help="a method and its JSON lines")
    parser.add_argument("--left-out", type=Path, metavar="FILE", help="pages that others stand for")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    keepers = read_keepers(args.left_out) if args.left_out else {}
    texts = {name: read(Path(file), keepers) for name, _, file in (each.partition("=") for each in args.methods)}
    by_site, doubtful = judge(args.corpus, texts)
    means = {name: mean_of(found[name] for site, found in by_site.items() if site not in doubtful) for name in texts}
    worst = {name: min(each[name].f1 for site, each in by_site.items() if site not in doubtful) for name in texts}
    print_table(by_site, doubtful, means, worst)
    figures = {
        "mean": {name: asdict(found) | {"worst_f1": worst[name]} for name, found in means.items()},
        "sites": {site: {name: asdict(each) for name, each in found.items()} for site, found in by_site.items()},
        "doubtful": sorted(doubtful),
        "versions": {name: known for name in texts if (known := version_of(name))},
    }
    results.write(args.json, figures)


def read(file: Path, keepers: dict[str, str]) -> dict[str, str]:
    """Return the text of each URL; a page without one has its keeper's."""
    with file.open(encoding="utf-8") as lines:
        texts = {row["url"]: row.get("cleaned_content") or "" for row in map(json.loads, lines)}
    return {url: texts.get(keeper, "") for url, keeper in keepers.items()} | texts


def read_keepers(file: Path) -> dict[str, str]:
    """Return, of each page that was left out, the URL of the one that stands for it; print how many there are."""
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    layers = Counter(row["layer"] for row in rows)
    print(f"{len(rows)} pages were left out: {', '.join(f'{number} {name}' for name, number in layers.most_common())}")
    return {row["url"]: row["keeper"] for row in rows}


def judge(corpus: Path, texts: dict[str, dict[str, str]]) -> tuple[dict[str, dict[str, Figures]], set[str]]:
    """Return site to method to figures, and the sites whose true content is disputed."""
    found, doubtful = {}, set()
    for manifest, folder in sites(corpus):
        scores: dict[str, list[Score]] = {name: [] for name in texts}
        for url, html in pages(manifest, folder):
            if (known := truth(html, manifest["gold"])) is not None:
                for name, by_url in texts.items():
                    scores[name].append(score(words(by_url.get(url, "")), known.true, known.lenient))
        if not any(scores.values()):
            continue
        found[manifest["name"]] = {name: figures_of(some) for name, some in scores.items()}
        if manifest.get("gold_quality", "checked") != "checked":
            doubtful.add(manifest["name"])
    return found, doubtful


def figures_of(scores: list[Score]) -> Figures:
    both, count = mean(scores), len(scores)
    loss, noise = sum(one.recall < LOST for one in scores), sum(one.precision < NOISY for one in scores)
    return Figures(both.precision, both.recall, both.f1, loss / count, noise / count, count)


def mean_of(found: Iterable[Figures]) -> Figures:
    """Return the mean of sites, each of equal weight, and the sum of their pages."""
    some = list(found)
    sums = [sum(float(getattr(each, name)) for each in some) for name in ("precision", "recall", "f1", "loss", "noise")]
    precision, recall, f1, loss, noise = (one / len(some) for one in sums)
    return Figures(precision, recall, f1, loss, noise, sum(each.pages for each in some))


def version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def print_table(
    by_site: dict[str, dict[str, Figures]], doubtful: set[str], means: dict[str, Figures], worst: dict[str, float]
) -> None:
    print(f"{'mean of the sites':28}{'precision':>10}{'recall':>9}{'F1':>9}{'loss':>9}{'noise':>9}{'worst F1':>10}")
    for name, each in means.items():
        cells = f"{each.precision:10.3f}{each.recall:9.3f}{each.f1:9.3f}{each.loss:9.3f}{each.noise:9.3f}"
        print(f"{name:28}{cells}{worst[name]:10.3f}")
    print(f"\n{'F1 by site':28}" + "".join(f"{name[:14]:>15}" for name in means) + f"{'pages':>8}")
    for site, found in sorted(by_site.items()):
        row = "".join(f"{each.f1:15.3f}" for each in found.values())
        note = "  (doubtful, not in the mean)" if site in doubtful else ""
        print(f"{site:28}{row}{next(iter(found.values())).pages:8}{note}")


if __name__ == "__main__":
    main()
