"""What a known URL costs: `scrapy_dedup.StoreDupeFilter`'s memory beside that of Scrapy's own duplicate filter.

    python -m benchmarks.seen_urls --urls 10000000

Each filter is filled in a process of its own; its memory is the peak of that process above the peak of one that does
the same with no URLs, caches and buffers of the database included. Every URL is checked to pass at first, and half a
million of them, spread over all, to be held back from then on. The store's writes, which a crawl does in a thread, are
counted apart.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha1
from pathlib import Path
from typing import Any, Final

from benchmarks.results import write

KINDS: Final = ("scrapy", "hexadecimal", "store")
NAMES: Final = {
    "scrapy": "Scrapy's RFPDupeFilter",
    "hexadecimal": "the same before Scrapy 2.19 (hexadecimal text)",
    "store": "scrapy_dedup.StoreDupeFilter",
}
TARGET_BYTES: Final = 2.5
# As the plugin writes them.
_BATCH: Final = 5_000
_REPEATS: Final = 500_000
_MENU: Final = 100
# Odd and prime, so that it visits other URLs than the last ones, spread over all.
_STRIDE: Final = 7_368_787

Check = Callable[[bytes], bool]


def main() -> None:
    args = _arguments()
    if args.child:
        print(json.dumps(_child(args)))
        return
    figures: dict[str, Any] = {"urls": args.urls, "capacity": args.capacity or args.urls, "filters": {}}
    for kind in args.filters:
        figures["filters"][kind] = found = _measured(kind, args)
        print(f"{NAMES[kind]}: {found['bytes_a_url']:.2f} bytes a URL", file=sys.stderr)
    _show(figures)
    write(args.json, figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--capacity", type=int, help="DEDUP_SEEN_CAPACITY; else as many as there are URLs")
    parser.add_argument("--filters", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    return parser.parse_args()


def _measured(kind: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return what a filter costs, beside a process that has none of the URLs."""
    empty, full = (_run(kind, urls, args.capacity or args.urls) for urls in (0, args.urls))
    grown = full["peak_bytes"] - empty["peak_bytes"]
    return full | {"empty_bytes": empty["peak_bytes"], "grown_bytes": grown, "bytes_a_url": grown / args.urls}


def _run(kind: str, urls: int, capacity: int) -> dict[str, Any]:
    options = ["--child", kind, "--urls", str(urls), "--capacity", str(capacity)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.seen_urls", *options], stdout=subprocess.PIPE, check=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _child(args: argparse.Namespace) -> dict[str, Any]:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        if args.child == "store":
            found = _store(Path(folder), args)
        else:
            found = _fill(_scrapy(hexadecimal=args.child == "hexadecimal"), args.urls)
    return {"peak_bytes": _peak_bytes()} | found | {"seconds": time.perf_counter() - began}


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _scrapy(*, hexadecimal: bool) -> Check:
    """Return the check of Scrapy's filter, its fingerprinter apart."""
    from scrapy.dupefilters import RFPDupeFilter  # noqa: PLC0415 (the other children do without)

    class Given:
        """A fingerprinter whose requests are fingerprints."""

        def fingerprint(self, request: Any) -> bytes:
            return request  # type: ignore[no-any-return]

    if not hexadecimal:
        return RFPDupeFilter(fingerprinter=Given()).request_seen  # type: ignore[return-value]
    seen: set[str] = set()

    def check(fingerprint: bytes) -> bool:
        text = fingerprint.hex()
        if text in seen:
            return True
        seen.add(text)
        return False

    return check


def _store(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    from scrapy_dedup.core.urls.seen import key_of  # noqa: PLC0415
    from scrapy_dedup.plugin.dupefilter import SeenUrls  # noqa: PLC0415
    from scrapy_dedup.store.seen_urls import SeenTable  # noqa: PLC0415
    from scrapy_dedup.store.store import Store  # noqa: PLC0415

    file = folder / "dedup.db"
    timeout = timedelta(seconds=10)
    with Store.open(f"sqlite:///{file}") as store:
        project = store.project("benchmark")
        if not args.urls:
            return {}
        table = SeenTable.open(project, f"sqlite:///{file}", "run benchmark", timeout=timeout)
        seen = SeenUrls(table, args.capacity)
        writing_seconds = 0.0

        def check(fingerprint: bytes) -> bool:
            return seen.meet(key_of(fingerprint, is_hash=True))

        def flush() -> None:
            nonlocal writing_seconds
            began = time.perf_counter()
            table.add(seen.take())
            seen.written()
            writing_seconds += time.perf_counter() - began

        found = _fill(check, args.urls, lambda: flush() if seen.waiting >= _BATCH else None)
        flush()
        found |= {"writing_seconds": writing_seconds, "false_positives": seen.false_positives}
        found |= {"file_bytes": sum(path.stat().st_size for path in folder.iterdir())}
        found["peak_bytes"] = _peak_bytes()
        began = time.perf_counter()
        again = SeenUrls(table, args.capacity)
        assert again.load(lambda _read, _known: None) == args.urls
        found["loading_seconds"] = time.perf_counter() - began
        table.close()
    return found


def _fill(check: Check, urls: int, after: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Return times of new and of known URLs.

    Raises:
        AssertionError: a new URL was held back, or a known one passed.
    """
    if not urls:
        return {}
    new_seconds = 0.0
    for start in range(0, urls, _BATCH):
        some = [_fingerprint(number) for number in range(start, min(start + _BATCH, urls))]
        began = time.perf_counter()
        wrong = 0
        for key in some:
            wrong += check(key)
        new_seconds += time.perf_counter() - began
        after()
        assert not wrong, f"{wrong} new URLs were held back"
    return {
        "new_ns": new_seconds / urls * 1e9,
        "known_ns": _known(check, urls, _STRIDE),
        "menu_ns": _known(check, min(urls, _MENU), 1),
    }


def _known(check: Check, urls: int, stride: int) -> float:
    """Return the nanoseconds of a URL that was seen before."""
    seconds = 0.0
    for start in range(0, _REPEATS, _BATCH):
        some = [_fingerprint(number * stride % urls) for number in range(start, start + _BATCH)]
        began = time.perf_counter()
        held = 0
        for key in some:
            held += check(key)
        seconds += time.perf_counter() - began
        assert held == len(some), f"{len(some) - held} known URLs passed"
    return seconds / _REPEATS * 1e9


def _fingerprint(number: int) -> bytes:
    return sha1(b"%d" % number).digest()


def _show(figures: dict[str, Any]) -> None:
    print(f"{figures['urls']:,} URLs")
    print(f"{'':50}{'bytes a URL':>12}{'new, ns':>10}{'known, ns':>11}{'in a menu, ns':>15}{'seconds':>9}")
    for kind, found in figures["filters"].items():
        times = f"{found['new_ns']:>10.0f}{found['known_ns']:>11.0f}{found['menu_ns']:>15.0f}"
        print(f"{NAMES[kind]:50}{found['bytes_a_url']:>12.2f}{times}{found['seconds']:>9.0f}")
    if store := figures["filters"].get("store"):
        print(f"Target: at most {TARGET_BYTES} bytes a URL.")
        print(f"No new URL was held back, none of {_REPEATS:,} known ones passed.")
        a_url = store["file_bytes"] / figures["urls"]
        print(f"The store's file: {a_url:.1f} bytes a URL; writing them took {store['writing_seconds']:.0f} s,")
        print(
            f"reading them at a resume {store['loading_seconds']:.1f} s; false positives {store['false_positives']:,}"
        )


if __name__ == "__main__":
    main()
