"""How much memory does the plugin need, and does it grow once the domains are known?

Many domains, their pages interleaved, are crawled bare and with the add-on.
"""

import argparse
from pathlib import Path

from benchmarks import results
from benchmarks.crawls import BARE, ON, Measured, crawl
from benchmarks.local_site import serving

SPIDERS = {"SPIDER_MODULES": "benchmarks.spiders"}
# First in, first out: the pages of all domains come mixed, which is the hard case for what waits.
INTERLEAVED = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue", "DEPTH_PRIORITY": "1"}
MB = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--domains", type=int, default=50)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with serving(args.pages // args.domains, domains=args.domains) as starts:
        start = ",".join(starts)
        bare = crawl(start, BARE | SPIDERS | INTERLEAVED, spider="many")
        ours = crawl(start, ON | SPIDERS | INTERLEAVED, spider="many")
    more = (ours.peak_bytes - bare.peak_bytes) / MB
    print(f"{ours.pages} pages of {args.domains} domains, bare gave {bare.pages}")
    print(f"peak: bare {bare.peak_bytes / MB:.0f} MB, with the add-on {ours.peak_bytes / MB:.0f} MB: {more:+.0f} MB")
    print(f"grown over the second half: bare {_growth(bare):+.1f} MB, with the add-on {_growth(ours):+.1f} MB")
    print("with the add-on:", ", ".join(f"{items}: {used / MB:.0f}" for items, used in ours.memory[::4]), "MB")
    results.write(
        args.json,
        {
            "pages": ours.pages,
            "domains": args.domains,
            "peak_mb": {"bare": bare.peak_bytes / MB, "with": ours.peak_bytes / MB, "more": more},
            "growth_of_second_half_mb": {"bare": _growth(bare), "with": _growth(ours)},
        },
    )


def _growth(measured: Measured) -> float:
    """Return by how much resident memory grew from the middle of the crawl to its end, in MB."""
    # One that is over before anybody looked has but its peak.
    seen = measured.memory or [(0, measured.peak_bytes)]
    return (seen[-1][1] - seen[len(seen) // 2][1]) / MB


if __name__ == "__main__":
    main()
