"""What do page-at-a-time extractors make of the same pages, and how fast? None of them learns anything of a site.

Each peer is optional: `pip install trafilatura resiliparse readability-lxml justext boilerpy3`.
"""

import argparse
import importlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.words import Score, mean, score, truth, words

Peer = Callable[[str], str]
"""From HTML to the text of the main content."""


def _trafilatura() -> Peer:
    library = importlib.import_module("trafilatura")
    return lambda html: library.extract(html, include_comments=False, include_tables=True) or ""


def _resiliparse() -> Peer:
    library = importlib.import_module("resiliparse.extract.html2text")
    return lambda html: str(library.extract_plain_text(html, main_content=True, links=False))


def _readability() -> Peer:
    library, lxml = importlib.import_module("readability"), importlib.import_module("lxml.html")
    return lambda html: str(lxml.fromstring(library.Document(html).summary()).text_content())


def _justext() -> Peer:
    library = importlib.import_module("justext")
    stop_words = library.get_stoplist("English")
    return lambda html: "\n".join(p.text for p in library.justext(html, stop_words) if not p.is_boilerplate)


def _boilerpy3() -> Peer:
    extractors = importlib.import_module("boilerpy3.extractors")
    extractor = extractors.ArticleExtractor(raise_on_failure=False)
    return lambda html: str(extractor.get_content(html))


_PEERS: dict[str, tuple[str, Callable[[], Peer]]] = {
    "trafilatura": ("trafilatura", _trafilatura),
    "resiliparse": ("Resiliparse", _resiliparse),
    "readability": ("readability-lxml", _readability),
    "justext": ("jusText", _justext),
    "boilerpy3": ("boilerpy3", _boilerpy3),
}


def peers(names: list[str] | None = None) -> dict[str, Peer]:
    """Return the peers that are installed, by name."""
    found: dict[str, Peer] = {}
    for name, (package, make) in _PEERS.items():
        try:
            version(package)
        except PackageNotFoundError:
            print(f"{name}: not installed, left out")
        else:
            found[name] = make()
    return {name: peer for name, peer in found.items() if not names or name in names}


def text_of(peer: Peer, html: str) -> str:
    """Return a peer's text; a peer that fails on a page has extracted nothing."""
    try:
        return peer(html)
    except Exception:  # noqa: BLE001 - see above
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of sites, each with manifest.json")
    parser.add_argument("--peer", action="append", help="one of them alone; may be repeated")
    parser.add_argument("--pages", type=int, default=10, help="of each site, evenly spread; 0 for all")
    parser.add_argument("--lines", type=Path, help="folder for NAME.jsonl with {url, cleaned_content}")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures: dict[str, Any] = {}
    print(f"{'peer':14}{'precision':>10}{'recall':>10}{'F1':>10}{'pages/s':>10}")
    for name, peer in peers(args.peer).items():
        found, speed = judge(name, peer, args)
        figures[name] = asdict(found) | {"pages_per_second": speed}
        print(f"{name:14}{found.precision:10.3f}{found.recall:10.3f}{found.f1:10.3f}{speed:10.1f}", flush=True)
    results.write(args.json, figures)


def judge(name: str, peer: Peer, args: argparse.Namespace) -> tuple[Score, float]:
    """Return the mean over sites, and pages a second of CPU."""
    by_site, lines, seconds, count = [], [], 0.0, 0
    for manifest, folder in sites(args.corpus):
        every = max(1, len(manifest["pages"]) // args.pages) if args.pages else 1
        chosen = manifest | {"pages": manifest["pages"][::every][: args.pages or None]}
        scores = []
        for url, html in pages(chosen, folder):
            started = time.process_time()
            text = text_of(peer, html)
            seconds += time.process_time() - started
            count += 1
            lines.append(json.dumps({"url": url, "cleaned_content": text}, ensure_ascii=False))
            if (known := truth(html, manifest["gold"])) is not None:
                scores.append(score(words(text), known.true, known.lenient))
        if scores and manifest.get("gold_quality", "checked") == "checked":
            by_site.append(mean(scores))
    if args.lines:
        args.lines.mkdir(parents=True, exist_ok=True)
        (args.lines / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return mean(by_site), count / seconds


if __name__ == "__main__":
    main()
