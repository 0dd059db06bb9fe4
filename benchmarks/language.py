"""How many chunks of wanted languages are dropped, how many of others are not, and how fast?

Texts: paragraphs and headings of 30 to 300 characters (numbers, addresses and code are not among the 30) from two
guides in many languages, as Debian ships them, labelled by the folder. Get them so, and name the folder:

    apt-get download installation-guide-amd64 debian-handbook
    for package in *.deb; do dpkg-deb -x $package FOLDER; done

Left out, by rule and not by any detector: a text that stands in two languages' editions (never translated, or names;
in English: in more than half of all); and, in all but English, one that has half or more of its pairs of words in
common with the English editions (translated in part). Half of the texts, by checksum, choose the thresholds; the
figures are of the other half.

Three situations for each wanted language: its chunks on pages of its own; chunks of other languages on such pages;
and whole pages in another language. A page has ten chunks and declares its language.
"""

import argparse
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

from selectolax.lexbor import LexborHTMLParser

from benchmarks import results
from scrapy_dedup.core.chunks.chunks import Chunk, ChunkKind
from scrapy_dedup.core.chunks.language import Detect, LanguagePolicy, careful, judge_languages, letters, light, prose_of

LANGUAGES = tuple("cs da de en es fr it ja nl pt ru sv".split())
WANTED = tuple("nl en fr de es it".split())
PAGE_CHUNKS = 10
MOST_TEXTS = 400
MOST_FOREIGN = 20
SWEPT = ((0.2, 0.3), (0.2, 0.5), (0.3, 0.4), (0.3, 0.5), (0.3, 0.7), (0.5, 0.7))
# The common languages of the careful one hold all that are wanted here.
DETECTORS: tuple[tuple[str, Callable[[], Detect]], ...] = (("light", light), ("careful", lambda: careful(WANTED)))
SHORT, LONG = "30-60", "60-300"


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.language", description=__doc__)
    arguments.add_argument("folder", type=Path, help="where the two packages were unpacked")
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--sweep", action="store_true", help="also show what other thresholds do to the first half")
    given = arguments.parse_args()
    texts = labelled(given.folder)
    halves = [
        {code: [text for text in texts[code] if crc32(text.encode()) % 2 == half] for code in texts} for half in (0, 1)
    ]
    figures: dict[str, Any] = {"texts": {code: len(found) for code, found in texts.items()}}
    for name, load in DETECTORS:
        figures[name] = {"chunks_a_second": speed(load(), texts["nl"])}
        detect = lru_cache(maxsize=None)(load())
        if given.sweep:
            figures[name]["sweep_on_first_half"] = list(sweep(detect, halves[0]))
        counts = {code: situations(detect, halves[1], code) for code in WANTED}
        figures[name]["second_half"] = {code: _shares(some) for code, some in counts.items()}
        figures[name]["second_half"]["all"] = _shares(_sum(counts.values()))
        _show(name, figures[name])
    results.write(given.json, figures)


def labelled(folder: Path) -> dict[str, list[str]]:
    """Return the texts by language, at most MOST_TEXTS of each, in an order of no meaning."""
    found: dict[str, set[str]] = {code: set() for code in LANGUAGES}
    for file in sorted(folder.rglob("*.html")):
        code = file.parent.name.partition("-")[0]
        if code in found:
            found[code].update(_blocks(file.read_text(errors="replace")))
    editions = Counter(text for texts in found.values() for text in texts)
    english = {pair for text in found["en"] for pair in _pairs(text)}
    clean: dict[str, list[str]] = {}
    for code, texts in found.items():
        most = len(found) // 2 if code == "en" else 1
        kept = [text for text in texts if editions[text] <= most and (code == "en" or not _is_shared(text, english))]
        clean[code] = sorted(kept, key=lambda text: (crc32(text.encode()[::-1]), text))[:MOST_TEXTS]
    if not all(clean.values()):
        raise SystemExit(f"{folder}: no texts in {[code for code in clean if not clean[code]]}; see --help")
    return clean


def situations(
    detect: Detect, texts: dict[str, list[str]], wanted: str, sure: tuple[float, float] | None = None
) -> Counter[str]:
    """Return how many chunks of each situation and length there were, and how many were dropped."""
    policy = LanguagePolicy(frozenset({wanted}), *sure) if sure else LanguagePolicy(frozenset({wanted}))
    counts: Counter[str] = Counter()

    def judge(situation: str, page: Sequence[str], declared: str, judged: slice) -> None:
        verdicts = judge_languages([chunk(text) for text in page], declared, detect, policy)
        for text, verdict in list(zip(page, verdicts, strict=True))[judged]:
            band = SHORT if letters(prose_of(text)) < 60 else LONG
            counts[f"{situation} {band}"] += 1
            counts[f"{situation} {band} dropped"] += not verdict.keep

    own = texts[wanted]
    for at in range(0, len(own), PAGE_CHUNKS):
        judge("wanted", own[at : at + PAGE_CHUNKS], wanted, slice(None))
    for code in LANGUAGES:
        if code == wanted:
            continue
        for number, text in enumerate(texts[code][:MOST_FOREIGN]):
            at = number * PAGE_CHUNKS % (len(own) - PAGE_CHUNKS)
            judge("foreign chunk", [text, *own[at : at + PAGE_CHUNKS - 1]], wanted, slice(1))
            at = number * PAGE_CHUNKS % (len(texts[code]) - PAGE_CHUNKS)
            if number < len(own):
                page = [own[number], *texts[code][at : at + PAGE_CHUNKS - 1]]
                judge("wanted on foreign page", page, code, slice(1))
        for at in range(0, MOST_FOREIGN, PAGE_CHUNKS):
            judge("foreign page", texts[code][at : at + PAGE_CHUNKS], code, slice(None))
    return counts


def sweep(detect: Detect, texts: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """Return what pairs of thresholds do."""
    for sure in SWEPT:
        shares = _shares(_sum(situations(detect, texts, code, sure) for code in WANTED))
        yield {"confidence": sure[0], "doubt": sure[1], **shares}


def speed(detect: Detect, texts: Sequence[str]) -> int:
    """Return chunks judged a second, page by page."""
    policy = LanguagePolicy(frozenset({"nl"}))
    # Models are loaded when a text is long enough to need them.
    detect(max(texts, key=len))
    started = time.perf_counter()
    for at in range(0, len(texts), PAGE_CHUNKS):
        judge_languages([chunk(text) for text in texts[at : at + PAGE_CHUNKS]], "nl", detect, policy)
    return round(len(texts) / (time.perf_counter() - started))


def chunk(text: str) -> Chunk:
    """Return a text as a chunk of prose."""
    return Chunk("0" * 16, 0, text, "", (), ChunkKind.PROSE, bytes(32), len(text))


def _blocks(html: str) -> Iterator[str]:
    tree = LexborHTMLParser(html)
    for node in tree.css("p, dd, h2, h3"):
        if all(inner.mem_id == node.mem_id for inner in node.css("p, dd, li, pre, div")):
            text = " ".join(node.text().split())
            if letters(prose_of(text)) >= 30 and len(text) <= 300:
                yield text


def _pairs(text: str) -> set[tuple[str, str]]:
    words = re.findall(r"\w+", text.lower())
    return set(pairwise(words))


def _is_shared(text: str, english: set[tuple[str, str]]) -> bool:
    pairs = _pairs(text)
    return 2 * len(pairs & english) >= len(pairs)


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for some in counts:
        total.update(some)
    return total


def _shares(counts: Counter[str]) -> dict[str, Any]:
    """Return percent dropped and how many there were, by situation and length; wanted chunks together, too."""
    grouped: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, count in counts.items():
        plain = name.removesuffix(" dropped")
        for key in {plain, *({plain.rpartition(" ")[0]} if plain.startswith("wanted") else ())}:
            grouped[key][name.endswith(" dropped")] += count
    return {
        key: {"dropped_percent": round(100 * dropped / count, 2), "chunks": count}
        for key, (count, dropped) in sorted(grouped.items())
    }


def _show(name: str, figures: dict[str, Any]) -> None:
    print(f"{name}: {figures['chunks_a_second']} chunks/s")
    for row in figures.get("sweep_on_first_half", ()):
        print(
            "  ",
            row["confidence"],
            row["doubt"],
            {key: row[key]["dropped_percent"] for key in row if " " in key or key == "wanted"},
        )
    for code, shares in figures["second_half"].items():
        print("  ", code, {key: share["dropped_percent"] for key, share in shares.items()})


if __name__ == "__main__":
    main()
