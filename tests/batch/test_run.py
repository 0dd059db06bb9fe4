"""Judging most pages unseen gives what looking at each of them gives, also of pages that are long gone from memory."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

from msgspec import to_builtins

from scrapy_dedup.batch.columns import raw
from scrapy_dedup.batch.run import Judge
from scrapy_dedup.batch.shared_facts import CHUNK, LookupWriter, PageTally, facts_json, keys_of, look_up
from scrapy_dedup.batch.steps import PAGE, KnowledgeFile
from scrapy_dedup.core.duplicates import NO_FIELDS, PageEvidence, blocks_of_text, shingles, sketch_of
from scrapy_dedup.core.pages.fingerprints import text_hash
from scrapy_dedup.service.duplicates.chunking import ACROSS, Stopwatch, divide
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.service.files.run import RunOthers
from scrapy_dedup.service.files.tasks import CleanedLine
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings

# More than are held in memory, so that the first ones have to be looked up.
PAGES = 1_300
SETTINGS = Settings(near_duplicate="drop", chunk_size=200, item_details=frozenset(["chunks"]))


def a_line(number: int, words: list[str], title: str) -> CleanedLine:
    text = " ".join(words)
    key = text_hash(f"page {number}")
    facts = PageFacts(
        page_key=key,
        domain=f"site{number % 3}.example",
        title_key=text_hash(title),
        text_hash=text_hash(text),
        language="",
        text=text,
        sketch=sketch_of(shingles(text), b""),
        chunks=divide(text, key, None, SETTINGS, Stopwatch()),
        is_new=True,
    )
    row: dict[str, Any] = {
        "url": f"https://{facts.domain}/{number}",
        "cleaned_content": text,
        "title": None,
        "dedup": {},
    }
    evidence = PageEvidence.of(text, blocks_of_text(text), "", with_numbers=True)
    evidence.add(NO_FIELDS)
    return CleanedLine(row, "template", None, facts, evidence=evidence, own_words=len(words))


def known_sites(folder: Path) -> KnowledgeFile:
    """Return that of each site so many pages were seen that a text can be its own."""
    path = str(folder / "known.db")
    with LookupWriter(path) as known:
        for number in range(3):
            site = SiteKnowledge(f"site{number}.example", 9)
            known.put(raw(site.domain), json.dumps(site.to_json()))
    return KnowledgeFile(path)


def some_lines() -> list[CleanedLine]:
    """Return pages of which a few repeat the text, the title, most of the text, or a passage of any earlier one."""
    random = Random(7)
    lines: list[CleanedLine] = []
    texts: list[list[str]] = []
    for number in range(PAGES):
        # Without digits: pages whose numbers differ are not left out.
        words = ["".join(random.choices("abcdefgh", k=10)) for _ in range(60)]
        title = f"Title {number}"
        kind, old = random.randrange(20), random.randrange(len(texts)) if texts else None
        if old is not None and kind == 0:
            words = texts[old]
        elif old is not None and kind == 1:
            words, title = [*texts[old][:-1], "other"], f"Title {old}"
        elif old is not None and kind == 2:
            words = [*texts[old][:-1], "another"]
        elif old is not None and kind == 3:
            words = [*texts[old][:40], *words]
        texts.append(words)
        lines.append(a_line(number, words, title))
    return lines


def looked_at(lines: list[CleanedLine], folder: Path) -> tuple[list[dict[str, Any] | None], list[Any], Counter[str]]:
    others, counts = RunOthers(SETTINGS, str(folder), known_sites(folder)), Counter[str]()
    placed = [others.place(line, counts) for line in lines]
    others.close()
    chunks = [[one.get("holder") for one in one.rows[0]["dedup"]["chunks"]] if one.rows else None for one in placed]
    return [one.left for one in placed], chunks, counts


def test_pages_that_share_nothing_need_not_be_looked_at(tmp_path):
    lines = some_lines()
    holders = defaultdict(set)
    for number, line in enumerate(lines):
        for key in keys_of(line, SETTINGS):
            holders[key].add(number)
    shared = {key: found for key, found in holders.items() if len(found) > 1}
    with_some = {number for found in shared.values() for number in found}
    compared = {number for key, found in shared.items() for number in found if not key.startswith(CHUNK)}
    rows = []
    for number, line in enumerate(lines):
        facts = line.facts
        made = PageTally("template", None, {}, {"items/in": 1, "items/out": 1}, {}, is_kept=False)
        tally = json.dumps(to_builtins(made))
        told = facts_json(line, SETTINGS) if number in with_some else None
        content = facts.text if number in compared else None
        rows.append((PAGE, number.to_bytes(4, "big"), raw(facts.domain), len(facts.text), tally, told, content))

    (tmp_path / "seen").mkdir()
    left, chunks, counts = looked_at(lines, tmp_path / "seen")
    path = str(tmp_path / "decisions.db")
    with LookupWriter(path) as decisions:
        judge = Judge(SETTINGS, str(tmp_path), known_sites(tmp_path), decisions, lambda _told: None)
        judge.judge(rows)
        judge.close()

    decided = {key: json.loads(text) for key, text in look_up(path, [row[1] for row in rows]).items()}
    found = [decided.get(row[1], {}) for row in rows]
    assert len(with_some) < PAGES / 2
    assert [one.get("left") for one in found] == left
    assert sum(one is not None for one in left) > PAGES / 20
    for one, holder_of in zip(found, chunks, strict=True):
        taken = {place: holder for place, _, reason, holder in one.get("chunks", ()) if reason == ACROSS}
        assert taken == {place: holder for place, holder in enumerate(holder_of or ()) if holder is not None}
    assert all(judge.tally.counts[name] == counts[name] for name in ("items/in", "items/out", "items/dropped"))
