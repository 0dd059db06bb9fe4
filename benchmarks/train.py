"""Train the model that says of each DOM path whether what stands there is content.

Reads folders of real sites with their true content marked, draws pages of each site by sixty, twenty, five, two and
one, adds single pages of other sites and sites drawn at random (`drawn_sites`), and fits boosted trees to the paths of
all that; no text of a page is kept. Two trainings from one commit and the same folders give the same bytes. Needs the
extra `bench`.
"""

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import lightgbm
import numpy as np

from benchmarks.drawn_sites import DrawnSite
from benchmarks.marked_sites import Floats, MarkedSite, Rows, drawn, read_folders, rows_of
from benchmarks.marked_texts import MarkedText, marked_texts
from scrapy_dedup.core.boilerplate.path_features import FIGURES
from scrapy_dedup.core.boilerplate.verdict_model import VERSION, VerdictModel, figures_hash

NAMES: Final = list(FIGURES)
OF_NAMES: Final = frozenset("around content arounds contents around_at content_at".split())
# Words of names that so many sites have.
_SITES_A_WORD: Final = 8
# So often names are left out, so that they are not relied on where a site's say nothing.
_NAMELESS: Final = {60: 0.3, 20: 0.3, 5: 0.2, 2: 0.0, 1: 0.0}
_SINGLE: Final = 1.5
# Of sites there are few shops and forums, which are hardest: each counts as so many others.
_KINDS: Final = {"shop": 1.5, "forum": 2.0}
# All single pages of one kind together count as the single pages of so many sites; of fewer nothing is learned.
_TEXTS: Final = 10.0
_FEWEST_TEXTS: Final = 20
# So many sites drawn at random, with so many pages each, count as so many others; how often their pages are drawn.
_DRAWN_SITES: Final = 120
_DRAWN_PAGES: Final = 40
_DRAWN_WEIGHT: Final = 9.0
_DRAWN_TIMES: Final = {60: 1, 20: 1, 5: 2, 2: 2, 1: 3}
# What must speak against content the more the greater it is, and what must speak for it.
_FALLING: Final = frozenset("own_often often own_shared most_often".split())
_RISING: Final = frozenset("own_cover cover".split())
_ROUNDS: Final = 400
_SETTINGS: Final[dict[str, Any]] = {
    "objective": "cross_entropy", "learning_rate": 0.06, "num_leaves": 8, "max_depth": 4, "min_data_in_leaf": 40,
    "feature_fraction": 0.15, "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 20.0, "max_bin": 63,
    "verbose": -1, "num_threads": 1, "deterministic": True, "force_col_wise": True,
}  # fmt: skip
# Out of the calibration what is certain already.
_CLIP: Final = 6.0


@dataclass(slots=True)
class Domain:
    """What is known of a domain."""

    rows: list[Rows] = field(default_factory=list)
    weight: float = 0.0
    """As how many sites it counts."""
    is_site: bool = False
    """A real one of which more than single pages are known."""
    is_drawn: bool = False
    """Drawn at random: trained on, and never judged."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained model as the library has it."""

    booster: lightgbm.Booster
    words: Sequence[str]

    @property
    def columns(self) -> list[str]:
        """Names of its columns, as `VerdictModel` has them."""
        return [*NAMES, *(f"named:{word}" for word in self.words), *(f"in:{word}" for word in self.words)]

    def odds(self, rows: Rows) -> Floats:
        """Return the log odds of each path of some rows."""
        return np.asarray(self.booster.predict(table(rows, self.words), raw_score=True, num_threads=1))


def table(rows: Rows, words: Sequence[str]) -> Floats:
    """Return what a model reads of some rows: figures, then words of names, own and above."""
    place = {word: column for column, word in enumerate(words)}
    named = np.zeros((len(rows.nodes), 2 * len(words)), dtype=np.float32)
    for row, node in enumerate(rows.nodes):
        named[row, [place[word] for word in node.tokens if word in place]] = 1
        named[row, [len(words) + place[word] for word in node.above if word in place]] = 1
    return np.hstack([rows.features, named])


def words_of(domains: Mapping[str, Domain]) -> list[str]:
    """Return the words that the names of enough sites have."""
    counts: Counter[str] = Counter()
    for domain in domains.values():
        if domain.is_site:
            counts.update({word for rows in domain.rows for node in rows.nodes for word in node.above})
    return sorted(word for word, count in counts.items() if count >= _SITES_A_WORD)


def fit(domains: Mapping[str, Domain], seed: int = 1) -> Fitted:
    """Train on the rows of some domains."""
    words = words_of(domains)
    chance = np.random.default_rng(seed)
    columns = [place for place, name in enumerate(NAMES) if name in OF_NAMES]
    tables, targets, weights = [], [], []
    for domain in domains.values():
        times = Counter(rows.drawn for rows in domain.rows)
        for rows in domain.rows:
            known = ~np.isnan(rows.main)
            if not known.any():
                continue
            values = table(rows, words)[known]
            if chance.random() < _NAMELESS.get(rows.drawn, 0.0):
                values[:, columns] = np.nan
                values[:, len(NAMES) :] = np.nan
            tables.append(values)
            targets.append(rows.main[known])
            weight = np.sqrt(rows.weights[known]) + 0.02
            share = (_SINGLE if rows.drawn == 1 else 1.0) / times[rows.drawn]
            weights.append(weight / weight.sum() * share * domain.weight)
    weight = np.concatenate(weights)
    data = lightgbm.Dataset(np.vstack(tables), np.concatenate(targets), weight=weight * len(weight) / weight.sum())
    seeds = dict.fromkeys(("seed", "bagging_seed", "feature_fraction_seed", "data_random_seed"), seed)
    signs = [(name in _RISING) - (name in _FALLING) for name in NAMES] + [0] * (2 * len(words))
    bound = {"monotone_constraints": signs, "monotone_constraints_method": "intermediate"}
    return Fitted(lightgbm.train(_SETTINGS | bound | seeds, data, _ROUNDS), words)


def folds(domains: Mapping[str, Domain], count: int) -> dict[str, int]:
    """Return the fold of each registrable domain; that of a site does not depend on which single pages there are.

    Sites that were drawn at random are in none (-1).
    """
    drawn_at_random = {name for name, domain in domains.items() if domain.is_drawn}
    sites = sorted(name for name, domain in domains.items() if domain.is_site)
    singles = sorted(domains.keys() - sites - drawn_at_random)
    found = {name: at % count for names in (sites, singles) for at, name in enumerate(names)}
    return found | dict.fromkeys(drawn_at_random, -1)


class LeftOut(NamedTuple):
    """Paths of sites that were left out of the training, in arrays of one length."""

    odds: Floats
    true: Floats
    """Share of the path's text that is main content."""
    weights: Floats
    """Share of a page's text that stands there, shared by its site's rows."""
    drawn: Floats
    """How many pages were known."""


def left_out(domains: Mapping[str, Domain], count: int = 11, seed: int = 1) -> LeftOut:
    """Return what models say of the sites of the fold that each was trained without."""
    fold = folds(domains, count)
    odds, true, weights, pages = [], [], [], []
    for which in range(count):
        fitted = fit({name: domain for name, domain in domains.items() if fold[name] != which}, seed)
        for name, domain in domains.items():
            if fold[name] == which and domain.is_site:
                for rows in domain.rows:
                    known = ~np.isnan(rows.main)
                    odds.append(np.clip(fitted.odds(rows)[known], -_CLIP, _CLIP))
                    true.append(rows.main[known])
                    weights.append(rows.weights[known] / len(domain.rows))
                    pages.append(np.full(int(known.sum()), float(rows.drawn)))
    return LeftOut(*map(np.concatenate, (odds, true, weights, pages)))


def calibrated(found: LeftOut) -> tuple[float, float]:
    """Return (scale, shift) that make odds true of sites that were left out of the training."""
    return logistic(found.odds, found.true, found.weights)


def logistic(column: Floats, true: Floats, weights: Floats, odds: Floats | float = 0.0) -> tuple[float, float]:
    """Return by which factor and shift a column makes log odds true that have *odds* already, by Newton's method."""
    table_of = np.stack([column, np.ones_like(column)], axis=1)
    found = np.array([0.0, 0.0])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-(odds + table_of @ found)))
        slope = table_of.T @ (weights * (true - likely))
        bend = (table_of * (weights * likely * (1 - likely))[:, None]).T @ table_of + 1e-6 * np.eye(2)
        found = found + np.linalg.solve(bend, slope)
    return float(found[0]), float(found[1])


def to_json(fitted: Fitted, scale: float, shift: float, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trained model as it is written; only the columns that its trees ask for are in it."""
    dumped = fitted.booster.dump_model()["tree_info"]
    used = sorted({column for tree in dumped for column in _columns(tree["tree_structure"])})
    place = {column: number for number, column in enumerate(used)}
    return {
        "version": VERSION,
        "figures": figures_hash(),
        "made": dict(made),
        "scale": round(scale, 4),
        "shift": round(shift, 4),
        "columns": [fitted.columns[column] for column in used],
        "trees": [_tree(tree["tree_structure"], place) for tree in dumped],
    }


def _columns(node: Mapping[str, Any]) -> set[int]:
    if "split_feature" not in node:
        return set()
    return {node["split_feature"]} | _columns(node["left_child"]) | _columns(node["right_child"])


def _tree(node: Mapping[str, Any], place: Mapping[int, int]) -> Any:
    if "split_feature" not in node:
        return round(node["leaf_value"], 5)
    threshold = node["threshold"]
    missing_left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0
    return [
        place[node["split_feature"]],
        float(f"{threshold:.7g}"),
        int(missing_left),
        _tree(node["left_child"], place),
        _tree(node["right_child"], place),
        round(node["internal_value"], 5),
    ]


def written(model: Mapping[str, Any]) -> str:
    """Return the text of a model's file: a line a tree."""
    head = {name: value for name, value in model.items() if name not in ("trees", "columns")}
    lines = [json.dumps(head, ensure_ascii=False)[:-1] + ","]
    lines.append('"columns": ' + json.dumps(model["columns"], ensure_ascii=False) + ",")
    trees = ",\n".join(json.dumps(tree, separators=(",", ":")) for tree in model["trees"])
    return "\n".join([*lines, f'"trees": [\n{trees}\n]}}\n'])


def domains_of(
    sites: Sequence[MarkedSite], texts: Sequence[MarkedText] = (), seed: int = 0, drawn_sites: int = _DRAWN_SITES
) -> dict[str, Domain]:
    """Return the rows of each registrable domain: drawn from sites that are not doubtful, and of single pages.

    With them are those of so many sites that are drawn at random.
    """
    found: dict[str, Domain] = {}
    for site in sites:
        if not site.doubtful:
            # Sites of one domain are left out together, lest one be trained on while the other is judged.
            domain = found.setdefault(site.domain, Domain(is_site=True))
            domain.rows.extend(drawn(site, seed))
            domain.weight += _KINDS.get(site.kind, 1.0)
    usable = [text for text in texts if text.is_aligned and text.domain not in found]
    kinds = Counter(text.kind for text in usable)
    for text in usable:
        if kinds[text.kind] >= _FEWEST_TEXTS:
            domain = found.setdefault(text.domain, Domain())
            domain.rows.append(rows_of([text.page], 1))
            domain.weight += _TEXTS / kinds[text.kind]
    for number in range(drawn_sites):
        name = f"drawn{number}.example"
        site = MarkedSite(name, name, "", doubtful=False, pages=list(DrawnSite(number).pages(_DRAWN_PAGES)))
        rows = list(drawn(site, seed, _DRAWN_TIMES))
        found[name] = Domain(rows, _DRAWN_WEIGHT / drawn_sites, is_drawn=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of sites, each with manifest.json")
    parser.add_argument("--single-pages", type=Path, help="folder of sets of single pages, each with pages.jsonl")
    parser.add_argument("--to", type=Path, default=Path("scrapy_dedup/service/verdict_model.json"))
    args = parser.parse_args()
    sites = read_folders(args.folders)
    domains = domains_of(sites, list(marked_texts(args.single_pages)) if args.single_pages else [])
    singles = sum(len(domain.rows) for domain in domains.values() if not (domain.is_site or domain.is_drawn))
    paths = sum(len(rows.nodes) for domain in domains.values() for rows in domain.rows)
    print(f"{len(domains)} domains, {singles} single pages, {paths} paths")
    scale, shift = calibrated(left_out(domains))
    print(f"calibrated by leaving sites out: scale {scale:.3f}, shift {shift:+.3f}")
    made = {
        "date": subprocess.run(
            ["git", "log", "-1", "--format=%cs"], capture_output=True, text=True, check=True
        ).stdout.strip(),
        "sites": sorted(site.name for site in sites if not site.doubtful),
        "pages": sum(len(site.pages) for site in sites if not site.doubtful),
        "single_pages": singles,
        "drawn_sites": _DRAWN_SITES,
        "trees": _ROUNDS,
    }
    text = written(to_json(fit(domains), scale, shift, made))
    VerdictModel.from_json(json.loads(text))
    args.to.write_text(text)
    print(f"{args.to}: {len(text):,} bytes")


if __name__ == "__main__":
    main()
