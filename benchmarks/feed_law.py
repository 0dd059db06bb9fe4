"""Is the feed with the add-on the feed without it? Many examples of spiders, sites and changes, for each kind.

Each kind is crawled in a process of its own; `--seed` is printed with what fails, and gives the same examples again:
`LAW_SEED=7 LAW_EXAMPLES=2000 python -m pytest tests/law/test_law.py`.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks import results
from tests.law.crawls import CrawlFailedError, Crawls
from tests.law.scenarios import Effort, search, shares
from tests.law.spiders import KINDS


def main() -> None:
    """Search, print what was found.

    Raises:
        SystemExit: an example breaks the law.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--examples", type=int, default=2000, help="over all kinds and modes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), help="some kinds")
    parser.add_argument("--shrink", action="store_true", help="look for the smallest example that fails: minutes")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    every = shares(args.examples)
    chosen = {one: count for one, count in every.items() if one[0] in args.only}
    print(f"{sum(chosen.values())} examples, seed {args.seed}", flush=True)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        tasks = {
            kind: pool.submit(
                found,
                kind,
                {mode: Effort(count, args.seed, args.shrink) for (one, mode), count in chosen.items() if one == kind},
            )
            for kind in args.only
        }
        broken = {}
        for kind, task in tasks.items():
            broken[kind] = task.result()
            for mode, how in broken[kind].items():
                print(f"{kind}, {mode}: {how or 'kept'}", flush=True)
    counted = [
        {"kind": kind, "mode": mode, "examples": count, "broken": broken[kind][mode]}
        for (kind, mode), count in chosen.items()
    ]
    results.write(args.json, {"seed": args.seed, "searches": counted})
    failed = sum(bool(one["broken"]) for one in counted)
    if failed:
        raise SystemExit(f"{failed} of {len(counted)} searches found an example that breaks the law")
    print(f"{sum(chosen.values())} examples, none breaks the law")


def found(kind: str, efforts: dict[str, Effort]) -> dict[str, str]:
    """Return for each mode what was found, an empty text where nothing was."""
    crawls, answers = Crawls(), {}
    for mode, effort in efforts.items():
        try:
            search(kind, mode, crawls, effort)
        except (AssertionError, CrawlFailedError) as error:
            answers[mode] = str(error)[:2000]
        else:
            answers[mode] = ""
    crawls.close()
    return answers


if __name__ == "__main__":
    main()
