"""Where do other libraries say something else of the cases in their own tests, and why?

URLs: which two are one page, as tests of w3lib, url-normalize, courlan and duplicate-url-discarder ask
(tests/data/urls/peers.json, which our own tests read, too). Near-duplicates: estimates of datasketch and ours, with as
many slots, of sets whose similarity is known. Ends with 1 where a difference has no reason.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from courlan import clean_url
from datasketch import MinHash
from duplicate_url_discarder.processors.normalize import NormalizerProcessor
from url_normalize import url_normalize
from w3lib.url import canonicalize_url

from benchmarks import results
from scrapy_dedup.core.duplicates import sketch_of
from scrapy_dedup.core.urls.normal_form import page_key

_CASES: Final = Path(__file__).parents[1] / "tests" / "data" / "urls" / "peers.json"
_PEERS: Final[dict[str, Callable[[str], str | None]]] = {
    "w3lib": canonicalize_url,
    "url-normalize": url_normalize,
    "courlan": clean_url,
    "duplicate-url-discarder": NormalizerProcessor(()).process,
}
_SLOTS: Final = 128
_SIZE: Final = 2_000
# Of an estimate by so many slots, one in 16,000 is further off than four standard errors.
_MOST_ERRORS: Final = 4


def unites(normal: Callable[[str], str | None], one: str, other: str) -> bool:
    """Say whether a library makes one URL of two; what it refuses it unites with nothing."""
    first, second = normal(one), normal(other)
    return first is not None and first == second


def urls() -> list[dict[str, Any]]:
    """Return the cases in which a library says something else, and why we say what we do."""
    found = []
    for case in json.loads(_CASES.read_text(encoding="utf-8")):
        one, other = case["one"], case["other"]
        ours = page_key(one) == page_key(other)
        others = [name for name, normal in _PEERS.items() if unites(normal, one, other) is not ours]
        if others:
            found.append({"case": case["id"], "ours": "one page" if ours else "two", "not": others, "why": case["why"]})
    return found


def near() -> list[dict[str, Any]]:
    """Return exact and estimated similarities of two sets."""
    found = []
    for shared in (0, _SIZE // 4, _SIZE // 2, _SIZE * 9 // 10, _SIZE):
        one, other = (frozenset(map(str, range(start, start + _SIZE))) for start in (0, _SIZE - shared))
        exact = shared / (2 * _SIZE - shared)
        ours, theirs = sketch_of(one, b""), sketch_of(other, b"")
        assert ours is not None
        assert theirs is not None
        same = sum(a == b for a, b in zip(ours.signature, theirs.signature, strict=True)) / _SLOTS
        # One byte of each slot is kept, and agrees by chance in one of 256.
        estimate = max(0.0, (same - 1 / 256) / (1 - 1 / 256))
        peer = MinHash.bulk([[each.encode() for each in some] for some in (one, other)], num_perm=_SLOTS)
        allowed = _MOST_ERRORS * math.sqrt(max(exact * (1 - exact), 1 / 256) / _SLOTS)
        row = {"exact": exact, "ours": estimate, "datasketch": float(peer[0].jaccard(peer[1])), "allowed": allowed}
        found.append({name: round(value, 3) for name, value in row.items()})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures: dict[str, Any] = {
        "cases": len(json.loads(_CASES.read_text(encoding="utf-8"))),
        "urls": urls(),
        "near": near(),
    }
    for one in figures["urls"]:
        print(f"{one['case']}: {one['ours']}, unlike {', '.join(one['not'])}: {one['why']}")
    for one in figures["near"]:
        print(
            "exact {exact:.3f}, ours {ours:.3f}, datasketch {datasketch:.3f}: both off by {allowed:.3f} at most".format(
                **one
            )
        )
    print("no shingles: datasketch says 1.0, we make no sketch: a page without words is nobody's near-duplicate")
    results.write(args.json, figures)
    off = [
        one
        for one in figures["near"]
        for name in ("ours", "datasketch")
        if abs(one[name] - one["exact"]) > one["allowed"]
    ]
    sys.exit(1 if off or not all(one["why"] for one in figures["urls"]) else 0)


if __name__ == "__main__":
    main()
