"""`scrapy dedup domains candidates`, as a user runs it."""

import gzip
import json
from pathlib import Path

from tests.commands.running import Shop

RESULTS = [
    {"url": "https://us-bulgaria.org/programs/education-grant", "engine": "searxng", "rank": 1, "confidence": 0.8},
    {"url": "https://us-bulgaria.org/about/mission", "engine": "tavily"},
    {"url": "https://www.us-bulgaria.org/contact", "engine": "perplexity", "title": "<b>Contact</b>\x1b[31m"},
]


def write(shop: Shop, name: str, *results: object) -> str:
    Path(shop.folder, name).write_text("".join(json.dumps(each) + "\n" for each in results), encoding="utf-8")
    return name


def test_the_results_of_three_engines_are_one_candidate(shop):
    name = write(shop, "results.jsonl", *RESULTS)

    dry = shop.run("domains", "candidates", name, "--dry-run", "--json").json
    done = shop.run("domains", "candidates", name, "--session", "spring")
    shown = shop.run("domains", "show", "www.us-bulgaria.org", "--json").json
    bare = shop.run("domains", "show", "us-bulgaria.org", "--json").json

    expected = {"new": 1, "known": 1, "processed": 0, "blacklisted": 0, "twin": 1, "invalid": 0}
    assert (dry["dry_run"], dry["session"]["id"], dry["read"], dry["outcomes"]) == (True, None, 3, expected)
    assert dry["engines"]["perplexity"]["twin"] == 1
    assert [(each["outcome"], each["domain"]) for each in dry["urls"]] == [
        ("new", "us-bulgaria.org"),
        ("known", "us-bulgaria.org"),
        ("twin", "www.us-bulgaria.org"),
    ]
    assert done.code == 0
    assert "Candidates of session spring" in done.out
    assert "1 new candidate of 3 URLs; 1 by a twin." in done.out
    assert shown["candidates"] == []
    assert [(each["engine"], each["rank"], each["session_name"]) for each in bare["candidates"]] == [
        ("searxng", 1, "spring")
    ]


def test_what_was_read_before_is_known(shop):
    name = write(shop, "results.jsonl", *RESULTS)
    shop.run("domains", "candidates", name)

    again = shop.run("domains", "candidates", name, "--json").json

    assert (again["outcomes"]["new"], again["outcomes"]["known"]) == (0, 3)


def test_files_of_one_engine_each_are_named_by_it(shop):
    write(shop, "tavily.jsonl", {"url": "https://a.example/"}, {"url": "https://b.example/"})
    Path(shop.folder, "brave.jsonl.gz").write_bytes(gzip.compress(b'{"url": "https://a.example/"}'))

    found = shop.run("domains", "candidates", "tavily.jsonl", "brave.jsonl.gz", "--json").json

    assert found["engines"]["tavily"]["new"] == 2
    assert found["engines"]["brave"]["known"] == 1


def test_an_invalid_url_is_warned_of_and_leaves_no_row(shop):
    name = write(
        shop, "results.jsonl", {"url": "mailto:a\u202e@example.org", "engine": "e"}, {"title": "x"}, RESULTS[0]
    )

    done = shop.run("domains", "candidates", name, "--json")

    assert done.json["outcomes"]["invalid"] == 2
    assert (
        "results.jsonl, line 1: mailto:a⟨U+202E⟩@example.org: no http or https URL of a host; passed over" in done.err
    )
    assert "results.jsonl, line 2: it has no url; passed over" in done.err
    assert shop.run("domains", "list", "--json").json["total"] == 1


def test_a_file_without_any_result_is_no_success(shop):
    assert shop.run("domains", "candidates", write(shop, "empty.jsonl")).code == 1
    assert shop.run("domains", "candidates", write(shop, "bad.jsonl", {"url": "nothing"})).code == 1


def test_a_file_that_is_not_there_is_told_before_the_first_is_read(shop):
    name = write(shop, "results.jsonl", *RESULTS)

    done = shop.run("domains", "candidates", name, "no-such-file")

    assert done.code == 1
    assert "no-such-file" in done.err
    assert shop.run("domains", "list", "--json").json["total"] == 0
