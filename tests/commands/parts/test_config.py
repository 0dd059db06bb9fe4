import json
from collections.abc import Callable

import pytest

from scrapy_dedup.core.patterns import KEYS
from tests.commands.running import Outcome, Shop, at_a_terminal, here
from tests.service.stored_pages import DOMAIN, a_url, html_page, put_html
from tests.tables import table

HEADER = "Welcome to the shop of ropes and cords."
CSS = "boilerplate_css_selectors"

Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path) -> Run:
    """Runs the verb on a store with three pages."""
    shop = Shop(tmp_path)
    with shop.open() as store:
        put_html(shop.project(store), range(3), HEADER)
    return lambda *words: shop.run("store", "config", *words, "-s", "DEDUP_FALLBACK=whole")


def test_what_is_set_is_got_and_its_pages_wait(run):
    done = run("set", DOMAIN.upper(), CSS, ".header", ".promo", "--json").json

    config: dict[str, list[str]] = {key: [] for key in KEYS} | {CSS: [".header", ".promo"]}
    own = {"domain": DOMAIN, "config": config, "version": 1, "stale": 3, "trial": None}
    assert done == {"changes": [own], "dry_run": False}
    got = run("get", DOMAIN, "--json").json
    assert got["config"][CSS] == [".header", ".promo"]
    assert ".promo" in run("get", DOMAIN).out
    assert [one["domain"] for one in run("get", "--json").json["domains"]] == [DOMAIN]
    assert DOMAIN in run("get").out


def test_entries_are_added_and_taken_away(run):
    run("set", DOMAIN, CSS, ".a")
    run("add", DOMAIN, CSS, ".b", ".a")
    run("add", DOMAIN, "keep_rules", "nav")

    left = run("unset", DOMAIN, CSS, "--json").json["changes"][0]["config"]
    assert (left[CSS], left["keep_rules"]) == ([], ["nav"])
    assert "nothing is decided any more" in run("unset", DOMAIN).out
    assert "Nothing is decided" in run("get", DOMAIN).out


def test_a_dry_run_tells_how_many_pages_would_change_and_writes_nothing(run):
    found = run("set", DOMAIN, CSS, "header", "--dry-run", "--json").json["changes"][0]["trial"]

    assert (found["pages"], found["changed"], found["chars_less"]) == (3, 3, 3 * len(HEADER))
    out = run("set", DOMAIN, CSS, "header", "--dry-run").out
    assert "of 3 stored pages 3 would change" in out
    assert "nothing was written" in out
    assert "no page is stored" in run("set", "other.example", CSS, "header", "--dry-run").out
    assert run("get", DOMAIN, "--json").json["version"] == 0


def test_files_carry_configurations(run, tmp_path):
    file, body = tmp_path / "all.json", tmp_path / "one.json"
    run("set", DOMAIN, CSS, "header")
    assert run("export", str(file), "--json").json["domains"] == 1
    assert "1 configuration written" in run("export", str(file)).out
    assert json.loads(run("export").out) == json.loads(file.read_text())
    run("unset", DOMAIN)
    body.write_text(json.dumps({"config": {"pipeline": {CSS: [".custom-header"]}}}))

    assert run("import", str(file), "--dry-run", "--json").json["changes"][0]["trial"]["changed"] == 3
    assert run("import", str(file)).code == 0
    assert run("import", str(body), "a.example").code == 0
    domains = run("get", "--json").json["domains"]
    assert [one["domain"] for one in domains] == ["a.example", DOMAIN]


def test_a_page_shows_what_each_pattern_does(run, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(html_page("new", "Another header"))
    run("set", DOMAIN, CSS, "header", "body")

    found = run("test", a_url(1), "--json").json
    assert found["patterns"] == [{"tier": 2, "pattern": "header", "blocks": 1, "chars": len(HEADER), "sample": HEADER}]
    assert found["held"] == [{"pattern": "body", "reason": "whole_page"}]
    out = run("test", a_url(9), "--html", str(file)).out
    assert "Another header" in out
    assert "Not carried out: body: would leave nothing of the page" in out
    assert "No pattern matches" in run("test", a_url(1), "other.example").out


def test_what_a_pattern_holds_is_not_obeyed_by_a_terminal(run):
    run("set", DOMAIN, "boilerplate_text_patterns", "a\u202e\x1bb")

    assert "⟨U+202E⟩⟨U+001B⟩" in run("get", DOMAIN).out


@pytest.mark.parametrize("action", ["set", "add"])
def test_a_site_is_configured_before_its_first_crawl(run, tmp_path, action):
    store = Shop(tmp_path).file
    store.unlink()

    tried = run(action, DOMAIN, CSS, ".header", "--dry-run")
    assert (tried.code, store.exists()) == (0, False)
    done = run(action, DOMAIN, CSS, ".header")
    assert (done.code, done.err) == (0, "")
    assert run("get", DOMAIN, "--json").json["config"][CSS] == [".header"]


def test_a_file_that_holds_none_is_told(run, tmp_path):
    file = tmp_path / "bad.json"
    file.write_text('{"x": 1}')

    assert "'x' is no key" in run("import", str(file), DOMAIN).err
    assert "say of which" in run("import", str(file)).err


def test_a_file_that_is_not_parsed_is_told(run, tmp_path):
    file = tmp_path / "deep.html"
    file.write_text("<div>" * 20_000)

    assert "is not parsed: too_deep" in run("test", a_url(1), "--html", str(file)).err


ROWS = {
    "crawl_runs": 1,
    "crawled_urls": 12,
    "decisions": 6,
    "documents": 12,
    "domain_boilerplate": 2,
    "layout_templates": 4,
    "projects": 1,
    "sources": 12,
}


def names(shop: Shop) -> list[str]:
    listed = here("dedup", "store", "projects", "list", "--json", folder=shop.folder)
    return [project["name"] for project in listed.json["projects"]] if listed.code == 0 else []


def test_projects_are_listed_with_their_figures(shop):
    with shop.open() as store:
        store.project("blog")

    found, table = (here("dedup", "store", "projects", "list", *more, folder=shop.folder) for more in (["--json"], []))

    blog, ours = found.json["projects"]
    assert (blog["name"], blog["pages"]) == ("blog", 0)
    assert (ours["name"], ours["pages"], ours["runs"]) == ("shop", 12, 1)
    assert ours.keys() == {"id", "name", "pages", "runs", "stored_bytes", "created_at"}
    assert [line.split()[:3] for line in table.out.splitlines()[2:]] == [["blog", "0", "0"], ["shop", "12", "1"]]


def test_yes_deletes_without_a_question_and_a_dry_run_nothing_whatever_else_is_said(shop):
    call = ["dedup", "store", "projects", "delete", "shop", "--yes", "--json"]

    would = here(*call, "--dry-run", folder=shop.folder)
    assert would.json == {"project": "shop", "deleted": False, "rows": ROWS, "total": 50}
    assert names(shop) == ["shop"]

    assert here(*call, folder=shop.folder).json == would.json | {"deleted": True}
    assert names(shop) == []


@table("commands/projects_questions")
def test_at_a_terminal_it_asks(shop, typed, code, left):
    told = at_a_terminal("dedup", "store", "projects", "delete", "shop", folder=shop.folder, typed=typed)

    assert told.code == code
    assert "Would be deleted: project shop" in told.out
    assert "Delete project shop with 50 rows? [y/N]" in told.out
    assert names(shop) == left


@pytest.mark.parametrize("more", [[], ["--json"], ["--dry-run"], ["--yes"]])
def test_an_unknown_project_is_no_reason_to_delete_another(shop, more):
    told = here("dedup", "store", "projects", "delete", "shap", *more, folder=shop.folder)

    assert told.code == (1 if more in (["--dry-run"], ["--yes"]) else 2)
    assert names(shop) == ["shop"]
