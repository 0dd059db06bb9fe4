"""How much later does a crawl with the plugin ask for its first page, and `scrapy list` end?

A spider of one page is started bare and with the add-on in turn, on a store that is there; figures are milliseconds
from the start of the process, and the median of the pairs' differences.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import results

_SETTINGS: Final = (
    "SPIDER_MODULES = ['spiders']\nROBOTSTXT_OBEY = False\nTELNETCONSOLE_ENABLED = False\nLOG_LEVEL = 'ERROR'\n"
)
_ADDON: Final = "ADDONS = {'scrapy_dedup.Addon': 300}\n"
_SPIDER: Final = """
import scrapy


class One(scrapy.Spider):
    name = "one"
    start_urls = ["{start}"]

    def parse(self, response):
        yield {{"url": response.url, "html": response.text}}
"""
COMMANDS: Final = {"first request": ("crawl", "one"), "scrapy list": ("list",)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as made, _serving() as (start, asked):
        folder = Path(made)
        (folder / "bare.py").write_text(_SETTINGS)
        (folder / "with_addon.py").write_text(_SETTINGS + _ADDON)
        (folder / "spiders.py").write_text(_SPIDER.format(start=start))
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = bare\n")
        # What is compiled, and the store that is made, once.
        _milliseconds(folder, "with_addon", COMMANDS["first request"], asked)
        for name, command in COMMANDS.items():
            bare, ours = [], []
            for _ in range(args.pairs):
                bare.append(_milliseconds(folder, "bare", command, asked))
                ours.append(_milliseconds(folder, "with_addon", command, asked))
            later = [other - one for one, other in zip(bare, ours, strict=True)]
            print(f"{name}: bare {median(bare):.0f} ms, with the add-on {results.spread(later)} ms later")
            figures[name] = {"bare_ms": bare, "with_ms": ours, "median_later_ms": median(later)}
    results.write(args.json, {"pairs": args.pairs, "commands": figures})


def _milliseconds(folder: Path, settings: str, command: tuple[str, ...], asked: list[float]) -> float:
    """Return how long a process took to its first request; to its end if it makes none."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    asked.clear()
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "scrapy", *command],
        cwd=folder,
        env=environment | {"SCRAPY_SETTINGS_MODULE": settings},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return 1000 * ((asked or [time.perf_counter()])[0] - began)


@contextmanager
def _serving() -> Iterator[tuple[str, list[float]]]:
    """Yield the address of a server of one page, and a list to which it adds when it was asked."""
    asked: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that the base class calls
            asked.append(time.perf_counter())
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><title>Tea</title><body><p>Green tea from the hills, dried in the sun.")

        def log_message(self, *_args: object) -> None:
            """Be silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
