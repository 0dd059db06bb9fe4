"""How much of the text of real PDFs is read, how many running lines are taken off, and how fast?

Beside pdftotext (package poppler-utils) and pdfium's plain text. FOLDER holds *.pdf; the published figures are of those
in the Debian 12 packages auto-multiple-choice-doc-pdf, bash-doc, bzip2-doc, debian-faq, debian-policy (policy and fhs),
debian-refcard, developers-reference, evolver-doc, fontconfig, gnuplot-doc, graphviz-doc (Agraph, dotguide,
smyrna), libmpfr-doc, libtasn1-doc, maint-guide, nettle-dev, octave-doc (liboctave, refcard-a4),
shared-mime-info, speex-doc, valgrind, zlib1g-dev: pdfTeX, XeTeX, dblatex, Texinfo, MiKTeX, FOP, PassiveTeX and LyX with
Ghostscript. `apt-get download PACKAGE; dpkg-deb -x PACKAGE.deb .` and `gunzip` give them.

A word is a run of letters and digits in lower case; words cut at the ends of lines are put together on both sides.
*Word recall* is the share of pdftotext's words (all of them, running lines too) that our blocks and running lines have;
*body word recall* the share of those outside running lines that our blocks have.
Running lines are told from pdftotext's own boxes by a rule of this benchmark: the outermost line of a page, 1.4 lines
or more away from the next, is one where pages within three have the same line but for numbers at the same height, or
where it ends or begins with the number by which most pages are numbered; a second such line after the first. Headers
of three files that name sections of less than three pages were labelled by hand, once the rule had missed them.
*Removed* is the share of running lines whose words are in ours of that page; *body words lost* the share of all other
words of pdftotext that only our running lines have.
"""

import argparse
import re
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import pypdfium2

from benchmarks import results
from scrapy_dedup.core.pdf.text import PdfText, draw
from scrapy_dedup.service.pdf.reading import PdfReader, UnreadPdf

_WORD = re.compile(r"[^\W_]+")
_PAGE = re.compile(r'<page width="([\d.]+)" height="([\d.]+)">(.*?)</page>', re.DOTALL)
_LINE = re.compile(r'<line xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</line>', re.DOTALL)
_TOKEN = re.compile(r">([^<>]*)</word>")
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
# Headers that name the section, which differs from page to page, told by hand: the first line of a page.
_LABELLED = {
    "debian-faq": re.compile(r"CHAPTER \d+\. |CONTENTS"),
    "debian-policy": re.compile(r"\d+ Chapter \d+\. |\d+\.\d+\. .* \d+$"),
    "speex-doc": re.compile(r"\d [A-Z][^.]+$|Contents$|List of Tables"),
}
_APART = 1.4
_NEAR = 3
_HEIGHT = 3.0


@dataclass(frozen=True, slots=True)
class Row:
    """A line by pdftotext."""

    page: int
    place: float
    gap: float
    text: str
    is_top: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one file."""

    pages: int
    words: int
    word_recall: float
    body_word_recall: float
    running_lines: int
    removed: int
    body_words: int
    body_words_lost: int
    pages_a_second: float
    pdftotext_pages_a_second: float
    pdfium_pages_a_second: float


def words(text: str) -> Counter[str]:
    """Return the words of a text; one cut at a line's end is one."""
    text = re.sub(r"(?<=[^\W\d_])[-\u00ad\u2010]\s*\n\s*(?=[^\W\d_])", "", text.replace("\f", "\n"))
    text = re.sub(r"[\ufb00-\ufb06]", lambda found: _LIGATURES[found[0]], text)
    # A hyphen that stays on one side and goes on the other makes no difference.
    return Counter(_WORD.findall(re.sub(r"(?<=[^\W\d_])[-\u00ad\u2010](?=[^\W\d_])", "", text).lower()))


_LIGATURES = dict(zip("\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06", "ff fi fl ffi ffl st st".split(), strict=True))


def running_lines(path: Path) -> list[Row]:
    """Return the lines that run along the pages, by a rule that knows only pdftotext's boxes."""
    edges = list(_edges(path))
    numbered, label = _numbering(edges), _LABELLED.get(path.stem)
    same: dict[tuple[bool, str], list[Row]] = defaultdict(list)
    for row in (row for edge in edges for row in edge):
        same[row.is_top, _masked(row.text)].append(row)
    found = []
    for edge in edges:
        for row in edge:
            others = {
                other.page
                for other in same[row.is_top, _masked(row.text)]
                if other.page != row.page
                and abs(other.page - row.page) <= _NEAR
                and abs(other.place - row.place) <= _HEIGHT
            }
            counts = any(number - row.page in numbered for number in _ends(row.text))
            is_labelled = row is edge[0] and row.is_top and label is not None and label.match(row.text)
            if row.gap < _APART or not (counts or is_labelled or len(others) > 1):
                break
            found.append(row)
    return found


def _edges(path: Path) -> Iterator[list[Row]]:
    """Return the two outermost lines at the top and at the bottom of each page, from outside."""
    made = subprocess.run(["pdftotext", "-bbox-layout", str(path), "-"], capture_output=True, check=True).stdout
    for number, page in enumerate(_PAGE.finditer(made.decode("utf-8", "replace")), 1):
        lines = _merged(page[3])
        for is_top in (True, False):
            outward = lines if is_top else lines[::-1]
            rows = []
            for (top, bottom, text), (next_top, next_bottom, _) in pairwise(outward[:3]):
                step = next_top - top if is_top else bottom - next_bottom
                place = top if is_top else float(page[2]) - bottom
                rows.append(Row(number, place, step / max(bottom - top, 1.0), text, is_top))
            yield rows


def _merged(page: str) -> list[tuple[float, float, str]]:
    """Return top, bottom and text of a page's lines, what stands side by side as one."""
    lines = sorted((float(found[2]), float(found[1]), float(found[4]), found[5]) for found in _LINE.finditer(page))
    merged: list[tuple[float, float, str]] = []
    for top, _, bottom, inner in lines:
        text = " ".join(_TOKEN.findall(inner))
        for entity, char in _ENTITIES.items():
            text = text.replace(entity, char)
        if merged and top < (merged[-1][0] + merged[-1][1]) / 2:
            first = merged[-1]
            merged[-1] = (first[0], max(first[1], bottom), f"{first[2]} {text}")
        else:
            merged.append((top, bottom, text))
    return merged


def _numbering(edges: list[list[Row]]) -> set[int]:
    """Return what is to be added to a page's place to get its printed number, where ten pages agree or most do."""
    votes: Counter[int] = Counter()
    pages = {row.page for edge in edges for row in edge}
    for edge in edges:
        for row in edge[:1]:
            votes.update({number - row.page for number in _ends(row.text)})
    return {offset for offset, count in votes.items() if count >= min(10, len(pages) / 2)}


def _ends(text: str) -> set[int]:
    """Return the numbers with which a line begins and ends."""
    parts = text.split()
    return {int(part) for part in parts[:1] + parts[-1:] if part.isdecimal()}


def _masked(text: str) -> str:
    return re.sub(r"\b[ivxlc]+\b|\d+", "#", text.lower())


def measure(path: Path, reader: PdfReader) -> Figures | None:
    """Return the figures of one file; None, told, where it cannot be read."""
    body = path.read_bytes()
    started = time.perf_counter()
    made = reader.read(body)
    ours = time.perf_counter() - started
    if isinstance(made, UnreadPdf):
        print(f"{path.name}: {made.message}")
        return None
    started = time.perf_counter()
    plain = subprocess.run(["pdftotext", str(path), "-"], capture_output=True, check=True).stdout
    theirs = time.perf_counter() - started
    truth = words(plain.decode("utf-8", "replace"))
    blocks, furniture = words(draw(made, "text")), _furniture(made)
    rows = running_lines(path)
    running = sum((words(row.text) for row in rows), Counter[str]())
    wanted = truth - running
    return Figures(
        made.pages,
        truth.total(),
        (truth & (blocks + furniture)).total() / max(1, truth.total()),
        (wanted & blocks).total() / max(1, wanted.total()),
        len(rows),
        sum(_has(made, row) for row in rows),
        wanted.total(),
        ((wanted - blocks) & (furniture - running)).total(),
        made.pages / ours,
        made.pages / theirs,
        made.pages / _pdfium_seconds(body),
    )


def _furniture(made: PdfText) -> Counter[str]:
    """Return the words of running lines; those of a line's first page stand for the others'."""
    found: Counter[str] = Counter()
    for line in made.furniture:
        for word, count in words(line.text).items():
            # Numbers differ from page to page: which they are there is not kept.
            found[word] += count * len(line.pages)
    return found


def _has(made: PdfText, row: Row) -> bool:
    """Tell whether our running lines of a page have the words of a line, but for numbers."""
    wanted = words(_masked(row.text))
    got = sum((words(_masked(line.text)) for line in made.furniture if row.page in line.pages), Counter[str]())
    if wanted:
        return not wanted - got
    # A page number alone: a running line without letters, or one that has the number beside its words.
    on_page = [line for line in made.furniture if row.page in line.pages]
    return any(not words(_masked(line.text)) or _ends(line.text) for line in on_page)


def _pdfium_seconds(body: bytes) -> float:
    started = time.perf_counter()
    document = pypdfium2.PdfDocument(body)
    for page in document:
        page.get_textpage().get_text_range()
    document.close()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures: dict[str, Figures] = {}
    with closing(PdfReader()) as reader:
        for path in sorted(arguments.folder.glob("*.pdf")):
            made = measure(path, reader)
            if made is not None:
                figures[path.stem] = made
                lost = made.body_words_lost / max(1, made.body_words)
                print(
                    f"{path.stem:24}{made.pages:5} pages  "
                    f"recall {made.word_recall:.4f} body {made.body_word_recall:.4f}  "
                    f"running {made.removed}/{made.running_lines}  lost {lost:.4%}  "
                    f"{made.pages_a_second:6.0f} p/s "
                    f"({made.pdftotext_pages_a_second:.0f}, {made.pdfium_pages_a_second:.0f})"
                )
    total = summary(list(figures.values()))
    print(total)
    results.write(arguments.json, {"all": total, "files": {name: asdict(found) for name, found in figures.items()}})


def summary(figures: list[Figures]) -> dict[str, float]:
    """Return the figures of all files together."""
    pages = sum(found.pages for found in figures)
    return {
        "files": len(figures),
        "pages": pages,
        "word_recall_mean": sum(found.word_recall for found in figures) / len(figures),
        "word_recall_least": min(found.word_recall for found in figures),
        "body_word_recall_mean": sum(found.body_word_recall for found in figures) / len(figures),
        "body_word_recall_least": min(found.body_word_recall for found in figures),
        "running_lines": sum(found.running_lines for found in figures),
        "running_lines_removed": sum(found.removed for found in figures)
        / sum(found.running_lines for found in figures),
        "body_words_lost": sum(found.body_words_lost for found in figures) / sum(found.body_words for found in figures),
        "pages_a_second": pages / sum(found.pages / found.pages_a_second for found in figures),
        "pdftotext_pages_a_second": pages / sum(found.pages / found.pdftotext_pages_a_second for found in figures),
        "pdfium_pages_a_second": pages / sum(found.pages / found.pdfium_pages_a_second for found in figures),
    }


if __name__ == "__main__":
    main()
