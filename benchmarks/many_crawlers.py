"""Many crawlers on one Redis queue and one PostgreSQL, beside one crawler of the same site.

Modes: plain; `--kill`: one worker is killed with -9 in the middle; `--restart`: PostgreSQL is stopped in the middle and
started again half a minute later. Every page must come once, and be the page that one crawler finds. A worker that is
killed may have given pages that were not yet given back to the queue: these come twice.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.crowd import Crowd, Outcome
from benchmarks.servers import running_postgresql, running_redis
from benchmarks.shared_site import SharedSite, serving
from tests.databases import find_programs


def main() -> None:
    """Crawl with one and with several crawlers, print what came, and end with 1 where a page is missing or twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=20_000, help="addresses, of which three of ten are aliases")
    parser.add_argument("--crawlers", type=int, default=8)
    parser.add_argument("--delay", type=float, default=0, help="seconds that the site takes to answer")
    parser.add_argument("--lease", type=float, default=60, help="DEDUP_SHARED_LEASE, in seconds")
    parser.add_argument("--away", type=float, default=30, help="seconds for which PostgreSQL is away")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--skip-plain", action="store_true", help="only the crawls with trouble, beside one crawler")
    parser.add_argument("--keep", type=Path, help="a folder for logs and items")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    troubles = [""] * (not args.skip_plain) + ["kill"] * args.kill + ["restart"] * args.restart
    programs = find_programs()
    if programs is None:
        sys.exit("no PostgreSQL here; on Debian and Ubuntu: apt-get install postgresql")
    site = SharedSite(args.pages)
    print(f"{site.documents} pages, {site.aliases} further addresses: {dict(site.alias_kinds())}", flush=True)
    settings = {"DEDUP_SHARED_LEASE": args.lease}
    with (
        tempfile.TemporaryDirectory() as temporary,
        serving(site, args.delay) as origin,
        running_redis() as redis,
        running_postgresql(programs) as postgresql,
    ):
        crowd = Crowd(site, origin, args.keep or Path(temporary), (postgresql, redis), args.away)
        outcomes = list(_outcomes(crowd, args.crawlers, settings, troubles))
        problems = [problem for outcome in outcomes for problem in _problems(outcome, outcomes[0], site)]
        # As long as the workers' files are there.
        figures = [_figures(outcome, outcomes[0]) for outcome in outcomes]
    _show(figures)
    results.write(args.json, {"pages": args.pages, "outcomes": figures})
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


def _outcomes(crowd: Crowd, crawlers: int, settings: dict[str, Any], troubles: list[str]) -> Iterator[Outcome]:
    yield crowd.crawl("one", 1, {})
    for trouble in troubles:
        yield crowd.crawl(f"shared_{trouble or 'plain'}", crawlers, settings, trouble)


def _problems(outcome: Outcome, one: Outcome, site: SharedSite) -> Iterator[str]:
    """Yield what must not be."""
    missing = [number for number in range(site.documents) if number not in outcome.times]
    for what, pages in (("missing", missing), ("twice", outcome.twice), ("under another's key", outcome.wrong)):
        if pages:
            yield f"{outcome.name}: {len(pages)} pages {what}: {pages[:10]}"
    if outcome.deadlocks:
        yield f"{outcome.name}: {outcome.deadlocks} deadlocks"
    for what in ("documents", "aliases", "runs"):
        found, wanted = _comparable(what, outcome), _comparable(what, one)
        if found != wanted:
            yield f"{outcome.name}: {found} {what} in the store; one crawler: {wanted}"
    for worker in outcome.workers:
        if worker.process.returncode and not worker.was_killed:
            yield f"{outcome.name}: a worker ended with {worker.process.returncode}: {worker.log()[-500:]}"
    for line in outcome.errors[:5]:
        yield f"{outcome.name}: {line}"


def _comparable(what: str, outcome: Outcome) -> dict[str, int]:
    """Return stored counts, as far as they must be the same: a page that two layers drop is counted by the first."""
    counts = outcome.stored[what]
    if what != "aliases":
        return dict(counts)
    redirects = counts.get("redirect", 0)
    return {"redirects": redirects, "others": sum(counts.values()) - redirects}


def _figures(outcome: Outcome, one: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "workers": len(outcome.workers),
        "seconds": round(outcome.seconds, 1),
        "CPU seconds of workers": round(outcome.cpu_seconds, 1),
        "seconds from first to last page": round(outcome.crawl_seconds, 1),
        "fewest pages of a worker": min(len(worker.arrived()) for worker in outcome.workers),
        "items": outcome.times.total(),
        "pages": len(outcome.times),
        "again after the kill": outcome.excused,
        "given so many seconds before": round(outcome.excused_seconds, 1),
        "twice": len(outcome.twice),
        "responses": outcome.asked.total(),
        "addresses asked twice": sum(times > 1 for path, times in outcome.asked.items() if path[2:3] == "/"),
        "links dropped": outcome.total("dedup/url/dropped"),
        "redirects": outcome.total("dedup/canonical/redirects"),
        "canonical dropped": outcome.total("dedup/canonical/dropped"),
        "duplicate dropped": outcome.total("dedup/duplicate/dropped"),
        "texts as one crawler's": sum(outcome.texts.get(number) == text for number, text in one.texts.items()),
        "requests reclaimed": outcome.total("dedup/queue/reclaimed"),
        "claims lost": outcome.total("dedup/claims/lost"),
        "deadlocks": outcome.deadlocks,
        **outcome.stored,
    }


def _show(columns: list[dict[str, Any]]) -> None:
    for name in columns[0]:
        print(f"{name:24}" + "".join(f"{column[name]!s:>36}" for column in columns))


if __name__ == "__main__":
    main()
