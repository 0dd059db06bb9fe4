"""How well are single pages of unknown sites cut, and their title, date and author found; beside trafilatura?

Each set is a folder with pages.jsonl: url, html_file, gold_text, and where known page_type, title, publish_date and
author. A title is right when its words are, a date when the day is, an author when one name contains the other.
"""

import argparse
import importlib
import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.corpus import decode
from benchmarks.peers import text_of
from benchmarks.words import FEWESTWORDS, Score, mean, score, words
from scrapy_dedup.core.locators import folded
from scrapy_dedup.core.metadata import metadata_of
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.templates.templates import cut
from scrapy_dedup.service.cut.site_cleaning import page_template

_FIELDS = {"title": "title", "date": "publish_date", "author": "author"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method made of a page."""

    text: str
    title: str | None = None
    date: str | None = None
    author: str | None = None


def ours(html: str, url: str) -> Answer:
    page = parse_page(html)
    if not isinstance(page, Page):
        return Answer("")
    known = metadata_of(page, url)
    text = render(page, [why is None for why in cut(page, page_template(page, 0.5)).removed], "text")
    return Answer(text, known.title, known.date, known.author)


def trafilatura(html: str, url: str) -> Answer:
    library = importlib.import_module("trafilatura")
    text = text_of(lambda source: library.extract(source, include_comments=False, include_tables=True) or "", html)
    known = library.extract_metadata(html, default_url=url)
    return Answer(text, known.title, known.date, known.author) if known else Answer(text)


_METHODS: dict[str, Callable[[str, str], Answer]] = {"ours": ours, "trafilatura": trafilatura}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("single", type=Path, help="folder of sets, each with pages.jsonl")
    parser.add_argument("--lines", type=Path, help="folder for SET.METHOD.jsonl with what was made of each page")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures: dict[str, Any] = {}
    for folder in sorted(path.parent for path in args.single.glob("*/pages.jsonl")):
        rows = [json.loads(line) for line in (folder / "pages.jsonl").open()]
        found = {name: judge(rows, folder, name, args.lines) for name in _METHODS}
        figures[folder.name] = found
        print_set(folder.name, found)
    results.write(args.json, figures)


def judge(rows: list[dict[str, Any]], folder: Path, name: str, lines: Path | None) -> dict[str, Any]:
    """Return a method's figures on a set: kind of page to scores, field to shares, pages a second of CPU."""
    scores: defaultdict[str, list[Score]] = defaultdict(list)
    fields: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    seconds, written = 0.0, []
    for row in rows:
        html = decode((folder / row["html_file"]).read_bytes())
        started = time.process_time()
        answer = _METHODS[name](html, row["url"])
        seconds += time.process_time() - started
        written.append({"url": row["url"], "cleaned_content": answer.text} | {k: getattr(answer, k) for k in _FIELDS})
        true = words(row.get("gold_text") or "")
        if true.total() >= FEWESTWORDS:
            for kind in ("all", row.get("page_type") or "unknown"):
                scores[kind].append(score(words(answer.text), true, true))
        for field, gold in _FIELDS.items():
            if row.get(gold):
                value = getattr(answer, field)
                fields[field].append((is_right(field, value, row[gold]), not value))
    if lines:
        lines.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in written)
        (lines / f"{folder.name}.{name}.jsonl").write_text(text)
    shares = {
        field: {"right": sum(r for r, _ in pairs) / len(pairs), "empty": sum(e for _, e in pairs) / len(pairs)}
        for field, pairs in fields.items()
    }
    kinds = {kind: asdict(mean(found)) | {"pages": len(found)} for kind, found in scores.items()}
    return {"kinds": kinds, "fields": shares, "pages_per_second": len(rows) / seconds}


def is_right(field: str, value: str | None, gold: str) -> bool:
    mine, true = folded(value or ""), folded(gold)
    if field == "date":
        return mine[:10] == true[:10]
    return bool(mine) and (mine in true or true in mine) if field == "author" else mine == true


def print_set(name: str, found: dict[str, dict[str, Any]]) -> None:
    print(f"{name:26}" + "".join(f"{method:>24}" for method in found))
    for kind in sorted(found["ours"]["kinds"]):
        figures = [method["kinds"][kind] for method in found.values()]
        cells = (f"{f['f1']:12.3f} ({f['precision']:.2f}, {f['recall']:.2f})" for f in figures)
        print(f"  {kind:24}" + "".join(f"{cell:>24}" for cell in cells))
    for field in found["ours"]["fields"]:
        shares = [method["fields"][field] for method in found.values()]
        print(f"  {field + ' right (empty)':24}" + "".join(f"{s['right']:16.3f} ({s['empty']:.3f})" for s in shares))
    print(f"  {'pages a second':24}" + "".join(f"{method['pages_per_second']:24.1f}" for method in found.values()))


if __name__ == "__main__":
    main()
