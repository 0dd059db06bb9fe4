"""What does `scrapy dedup clean` cost from end to end, and does a run that was killed and called again give the same?

The command cleans all pages of a folder of sites, as JSON lines, in a process of its own: CPU seconds (one process does
all the work), peak memory; then it is killed in the middle, and called again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from itertools import islice
from pathlib import Path
from time import process_time

from benchmarks import corpus, results
from benchmarks.clean_speed import SETTINGS, Page, sample_of
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.service.templates.site_knowledge import learn_site

MB = 1_000_000
_SPEED_PAGES = 300
_KILLED_AT = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, out, again = (Path(folder) / name for name in ("in.jsonl", "out.jsonl", "again.jsonl"))
        pages, known = written(args.corpus, source)
        seconds, peak = finished(command(source, out))
        killed(command(source, again), again, int(_KILLED_AT * out.stat().st_size))
        finished(command(source, again))
        same = digest(out) == digest(again)
    speed = pages / seconds
    print(f"{pages} pages: {seconds:.1f} CPU seconds, {speed:.0f} pages/s, peak {peak / MB:.0f} MB")
    print(f"pages of known layouts: {known:.0f} pages/s; from end to end that is {speed / known:.2f} of it")
    print(f"killed in the middle and called again: {'the same file' if same else 'ANOTHER FILE'}")
    figures = {"pages": pages, "pages_a_second": speed, "known_layout": known, "share": speed / known}
    results.write(args.json, {**figures, "peak_mb": peak / MB, "same_after_kill": same})


def written(folder: Path, path: Path) -> tuple[int, float]:
    """Write all pages as JSON lines; return how many, and how many a second are cut when their site is known."""
    count, seconds, cut = 0, 0.0, 0
    with path.open("w", encoding="utf-8") as file:
        for manifest, site in corpus.sites(folder):
            pages = list(corpus.pages(manifest, site))
            for url, html in pages:
                file.write(json.dumps({"url": url, "html": html}) + "\n")
            count += len(pages)
            measured = list(islice(pages, 0, None, max(1, len(pages) // _SPEED_PAGES)))
            seconds += cutting(manifest["domain"], sample_of(pages), measured)
            cut += len(measured)
    return count, cut / seconds


def cutting(site: str, sample: list[Page], pages: list[Page]) -> float:
    """Return the CPU seconds that pages of a known site take."""
    knowledge = learn_site(site, sample, SETTINGS)
    begin = process_time()
    for url, html in pages:
        clean_page(html, url, knowledge, SETTINGS)
    return process_time() - begin


def command(source: Path, out: Path) -> "subprocess.Popen[bytes]":
    arguments = ["dedup", "clean", str(source), "-O", str(out), "-s", "DEDUP_OUTPUT=text"]
    return subprocess.Popen([sys.executable, "-m", "scrapy", *arguments], cwd=out.parent, stdout=subprocess.DEVNULL)


def finished(run: "subprocess.Popen[bytes]") -> tuple[float, int]:
    """Wait for a run, and return its CPU seconds and its peak memory in bytes."""
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise SystemExit(f"the command ended with {run.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


def killed(run: "subprocess.Popen[bytes]", out: Path, at: int) -> None:
    """Kill a run once it has written so many bytes."""
    part = out.with_name(f"{out.name}.part")
    while run.poll() is None and not (part.exists() and part.stat().st_size >= at):
        time.sleep(0.01)
    if run.poll() is not None:
        raise SystemExit("the run ended before it could be killed")
    run.kill()
    run.wait()


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
