"""`scrapy dedup domains`, as a user runs it."""

import getpass
import gzip
import json
from pathlib import Path

import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.records.records import CrawledUrlRecord, DocumentRecord
from tests.commands.running import Outcome, Shop
from tests.service.stored_pages import NOON

HOSTILE = "<script>alert(1)</script>\x1b[31m \u202e[red]"


@pytest.fixture
def registered(shop) -> Shop:
    done = shop.run("domains", "add", "https://WWW.example.org/", "example.org", "a.example", "bücher.example")
    assert done.code == 0, done.err
    return shop


def names(done: Outcome) -> list[str]:
    return [each["domain_name"] for each in done.json["domains"]]


def test_added_domains_are_listed_with_their_kinds(registered):
    shown = registered.run("domains", "list")
    listed = registered.run("domains", "list", "--json").json

    assert [each["domain_name"] for each in listed["domains"]] == [
        "a.example",
        "example.org",
        "www.example.org",
        "xn--bcher-kva.example",
    ]
    assert (listed["total"], listed["next"], listed["twins"], listed["twin_share"]) == (4, None, 2, 0.5)
    assert listed["statuses"]["DISCOVERED"] == 4
    assert "4 domains: 4 discovered, 0 high quality, 0 low quality, 0 blacklisted" in shown.out
    assert "50\N{NO-BREAK SPACE}% have a twin with or without www. (2)" in shown.out


def test_a_long_list_goes_on_where_it_ended(registered):
    first = registered.run("domains", "list", "--limit", "3", "--descending", "--json")
    rest = registered.run("domains", "list", "--descending", "--after", first.json["next"], "--json")

    assert names(first) + names(rest) == ["xn--bcher-kva.example", "www.example.org", "example.org", "a.example"]
    assert registered.run("domains", "list", "--after", "nonsense").code == 2


def test_a_pattern_blacklists_and_takes_off_again(registered):
    dry = registered.run("domains", "blacklist", "*.example.org", "new.org", "--dry-run", "--json").json
    before = names(registered.run("domains", "list", "--status", "blacklisted", "--json"))
    words = ("*.example.org", "new.org", "*.nothing")
    done = registered.run("domains", "blacklist", *words, "--reason", HOSTILE, "--expires", "30d")
    listed = registered.run("domains", "list", "--status", "BLACKLISTED", "--json").json["domains"]
    shown = registered.run("domains", "show", "new.org")
    off = registered.run("domains", "unblacklist", "*", "--json")

    assert ([each["domain_name"] for each in dry["domains"]], dry["new"]) == (["www.example.org"], ["new.org"])
    assert before == []
    assert "2 domains were blacklisted, 1 of them new" in done.out
    assert "*.nothing fits no registered domain" in done.out
    assert [each["domain_name"] for each in listed] == ["new.org", "www.example.org"]
    assert listed[0]["blacklisted_by"] == getpass.getuser()
    assert listed[0]["blacklist_reason"] == HOSTILE
    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out
    assert "<script>" in shown.out
    assert names(off) == ["new.org", "www.example.org"]
    assert {each["status"] for each in off.json["domains"]} == {"DISCOVERED"}


def test_a_pattern_that_fits_nothing_is_no_success(registered):
    done = registered.run("domains", "blacklist", "*.nothing")

    assert (done.code, done.out) == (1, "No domain fits: nothing is changed.\n")


def test_twins_are_joined_when_their_pages_agree(registered):
    with registered.open() as store:
        project = registered.project(store)
        for name in ("example.org", "www.example.org"):
            for path in "123":
                url = f"https://{name}/{path}"
                key, says = page_key(url), path.encode() * 16
                project.write([
                    DocumentRecord(key, url, name, "completed", NOON, cleaned_hash=says, chars_in=9, chars_out=9),
                    CrawledUrlRecord(key, url, name, "crawled", NOON, http_status=200, document_key=key),
                ])  # fmt: skip

    dry = registered.run("domains", "join", "--dry-run", "--json").json
    done = registered.run("domains", "join", "www.example.org")
    shown = registered.run("domains", "show", "www.example.org", "--json").json

    assert dry["pairs"] == [
        {
            "domain": "example.org",
            "twin": "www.example.org",
            "pages": {"example.org": 3, "www.example.org": 3},
            "pages_alike": 3,
            "pages_unlike": 0,
            "joined": True,
            "was_joined": False,
            "reason": "their pages say the same",
        }
    ]
    assert "one (was two)" in done.out
    assert (shown["domain"]["domain_name"], shown["joined"]) == ("example.org", "www.example.org")


def test_an_export_is_read_by_an_import(registered):
    name = "domains.jsonl"
    registered.run("domains", "blacklist", "a.example", "--reason", HOSTILE, "--by", "ann")
    exported = registered.run("domains", "export", name, "--json").json

    done = registered.run("-s", "DEDUP_PROJECT=other", "domains", "import", name, "--json")
    other = registered.run("domains", "import", name, "--json").json

    assert exported == {"project": "shop", "file": name, "domains": 4}
    assert (done.code, other["new"], other["known"], other["refused"]) == (0, 0, 4, [])
    text = (registered.folder / name).read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert {row["domain_name"]: row.get("blacklist_reason") for row in rows}["a.example"] == HOSTILE


def test_an_export_without_a_file_is_json_lines(registered):
    done = registered.run("domains", "export", "--status", "discovered")

    assert next(json.loads(line)["domain_name"] for line in done.out.splitlines()) == "a.example"
    assert done.out.isascii()


def test_a_list_of_names_is_imported_and_what_is_none_told(registered):
    Path(registered.folder, "names.txt").write_text("# ours\nnew.example\nnot a domain\na.example\n", encoding="utf-8")

    dry = registered.run("domains", "import", "names.txt", "--dry-run", "--json").json
    done = registered.run("domains", "import", "names.txt")

    assert (dry["dry_run"], dry["new"], dry["known"]) == (True, 1, 1)
    assert dry["refused"] == [{"where": "names.txt, line 3", "reason": "'not a domain' is no domain"}]
    assert "1 domain added, 1 known." in done.out
    assert "names.txt, line 3: 'not a domain' is no domain; passed over" in done.out


def test_a_store_is_created_for_a_blacklist_but_not_for_a_dry_run(tmp_path):
    empty = Shop(tmp_path)

    assert empty.run("domains", "blacklist", "a.example", "--dry-run").code == 0
    assert not empty.file.exists()
    assert empty.run("domains", "blacklist", "a.example").code == 0
    assert names(empty.run("domains", "list", "--json")) == ["a.example"]


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
