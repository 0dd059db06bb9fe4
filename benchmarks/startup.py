"""How much later does a crawl with the plugin ask for its first page, and `scrapy list` end?

A spider of one page is started bare and with the add-on in turn, on a store that is there; figures are milliseconds
from the start of the process, and the median of the pairs' differences.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import results
from benchmarks.crawls import environment
from tests.server import Answer, serving

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
    figures, asked = {}, list[float]()

    def answer(_times: int) -> Answer:
        asked.append(time.perf_counter())
        return Answer("<title>Tea</title><p>Green tea from the hills, dried in the sun.")

    with tempfile.TemporaryDirectory() as made, serving(1, lambda origins: {f"{origins[0]}/": answer}) as server:
        folder = Path(made)
        (folder / "bare.py").write_text(_SETTINGS)
        (folder / "with_addon.py").write_text(_SETTINGS + _ADDON)
        (folder / "spiders.py").write_text(_SPIDER.format(start=f"{server.origins[0]}/"))
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
    asked.clear()
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "scrapy", *command],
        cwd=folder,
        env=environment(SCRAPY_SETTINGS_MODULE=settings),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return 1000 * ((asked or [time.perf_counter()])[0] - began)


if __name__ == "__main__":
    main()
