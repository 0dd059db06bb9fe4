"""What does the teacher cost a crawl of a real site, and what does it bring: pages shown, templates, CPU seconds?

FOLDER holds a site as files: HTML with relative links and style sheets, such as the documentation in a source
distribution. It is served on this machine and crawled twice into new stores, without and with the teacher. CPU seconds
are those of the crawler and of all processes that it started and waited for, the browser among them.
"""

import argparse
import sqlite3
import tempfile
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from benchmarks import results
from benchmarks.crawls import Measured, crawl_in

WAYS = {"without": {}, "with": {"DEDUP_TEACHER": "new"}}


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as the base class has it)
        """Tell nobody of requests."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="a site as files")
    parser.add_argument("--start", default="index.html")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(args.folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    start = f"http://127.0.0.1:{server.server_port}/{args.start}"
    figures = {}
    for way, settings in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            measured = crawl_in(Path(folder), start, settings | {"CLOSESPIDER_PAGECOUNT": str(args.pages)})
            figures[way] = _figures(measured, Path(folder) / "dedup.db")
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures[way].items())
        print(f"{way} the teacher: {told}")
    server.shutdown()
    results.write(args.json, figures)


def _figures(measured: Measured, store: Path) -> dict[str, float]:
    with closing(sqlite3.connect(store)) as database:
        (visual,) = database.execute(
            "SELECT count(*) FROM layout_templates WHERE state = 'live' AND source = 'visual' AND layout != 0"
        ).fetchone()
        (live,) = database.execute(
            "SELECT count(*) FROM layout_templates WHERE state = 'live' AND layout != 0"
        ).fetchone()
    return {
        "pages": measured.pages,
        "cpu_seconds": round(measured.cpu_seconds, 1),
        "pages_shown": measured.stats.get("dedup/teacher/pages", 0),
        "resources_fetched": measured.stats.get("dedup/teacher/resources/fetched", 0),
        "templates_live": live,
        "of_these_visual": visual,
    }


if __name__ == "__main__":
    main()
