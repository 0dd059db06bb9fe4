"""`scrapy dedup undo`; what it does to texts stands in the tests of refine."""

from collections.abc import Callable
from typing import Any

import pytest

from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from tests.commands.running import Outcome, Shop
from tests.service.stored_pages import BANNER, DOMAIN, a_url, html_page, put

OTHER = "other.example"

Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path) -> Run:
    """Runs a verb on a store with two domains whose pages lost their banner; one of them lost a menu, too."""
    shop = Shop(tmp_path)
    with shop.open() as store:
        project = shop.project(store)
        put(project, {a_url(name): html_page(name, BANNER, "Menu") for name in range(6)})
        put(project, {f"https://{OTHER}/{name}": html_page(name, BANNER) for name in range(6)})
        with store.session() as session:
            DomainDedupService(session, Settings()).analyze_project(project.id)
    return lambda *words, verb="undo": shop.run(verb, *words)


def removed(run: Run, url: str, text: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = run(url, "--json", verb="explain").json["removed"]
    return next(one for one in found if one["text"] == text)


def test_a_block_as_explain_shows_it_is_kept(run):
    menu = removed(run, a_url(1), "Menu")

    done = run(menu["fingerprint"].upper(), "--json").json

    assert done == {
        "kind": "block",
        "domain": DOMAIN,
        "entry": menu["fingerprint"],
        "text": menu["fingerprint"],
        "pages": 6,
        "dry_run": False,
        "was_there": False,
        "version": 1,
        "stale": 6,
        "trial": None,
    }
    assert run("--list", "--json").json["kept"] == [
        {"kind": "block", "domain": DOMAIN, "entry": menu["fingerprint"], "text": menu["fingerprint"]}
    ]


@pytest.mark.parametrize("part", ["rule", "rule_path", "both"])
def test_a_rule_is_named_by_its_name_its_path_or_both(run, part):
    menu = removed(run, a_url(1), "Menu")
    name = f"{menu['rule']}: {menu['rule_path']}" if part == "both" else menu[part]

    done = run(name, "--domain", DOMAIN.upper(), "--json").json

    assert (done["kind"], done["domain"], done["entry"], done["pages"]) == ("rule", DOMAIN, name, 6)
    assert name in run(a_url(1), verb="explain").out


def test_a_dry_run_tells_what_would_change_and_writes_nothing(run):
    menu = removed(run, a_url(1), "Menu")

    told = run(menu["fingerprint"], "--dry-run")
    found = run(menu["fingerprint"], "--dry-run", "--json").json

    assert "would be kept from now on" in told.out
    assert "6 stored pages are concerned" in told.out
    assert "nothing was written" in told.out
    assert (found["dry_run"], found["version"], found["trial"]["pages"]) == (True, None, 6)
    assert run("--list").out == "Nothing is kept in spite of the rules.\n"


def test_what_is_kept_is_taken_back(run):
    menu = removed(run, a_url(1), "Menu")
    for name in (menu["fingerprint"], a_url(2), menu["rule_path"]):
        run(name, "--domain", DOMAIN)

    for name in (menu["fingerprint"], a_url(2)):
        assert run(name, "--remove").code == 0

    assert [one["text"] for one in run("--list", "--json").json["kept"]] == [menu["rule_path"]]
    assert "is not kept any more" in run(menu["rule_path"], "--remove").out
    assert run("--list", "--json").json["kept"] == []


def test_what_two_domains_have_needs_the_domain_to_be_kept_and_to_be_taken_back(run):
    refused = run("template: outside")
    assert (refused.code, refused.out) == (1, "")
    assert f"on several domains: name one by --domain, of {OTHER}" in refused.err
    for domain in (DOMAIN, OTHER):
        assert run("template: outside", "--domain", domain).code == 0

    told = run("template: outside", "--remove")

    assert (told.code, told.out) == (1, "")
    assert f"is kept on several domains: name one by --domain, of {OTHER}, {DOMAIN}" in told.err


def test_a_selector_of_all_sites_can_be_kept_before_it_removed_anything(run):
    done = run("nav", "--domain", "new.example", "--json").json

    assert (done["kind"], done["entry"], done["pages"], done["stale"]) == ("rule", "nav", 0, 0)
