import json
import shutil

import pytest

from scrapy_dedup.commands.verbs.templates import trend
from scrapy_dedup.core.pages.fingerprints import to_digits
from tests.commands.learned import learned_shop
from tests.commands.running import Shop, at_a_terminal
from tests.service.learned_site import ADVERT
from tests.service.stored_pages import DOMAIN, NOON, a_url

__all__ = ["learned_shop"]

Learned = tuple[Shop, dict[str, int]]


@pytest.fixture
def site(learned_shop, tmp_path) -> tuple[Shop, str]:
    """A copy of its own, and the layout of articles."""
    shutil.copytree(learned_shop[0].folder, tmp_path, dirs_exist_ok=True)
    return Shop(tmp_path), to_digits(learned_shop[1]["article"])


def states(shop: Shop, layout: str) -> list[tuple[int, str]]:
    (shown,) = shop.run("templates", "show", DOMAIN, layout, "--json").json["templates"]
    return [(one["version"], one["state"]) for one in shown["versions"]]


class TestLooking:
    def test_list_is_as_documented(self, learned_shop):
        shop, layouts = learned_shop

        found = shop.run("templates", "list", "--json").json

        assert found["project"] == "shop"
        by_layout = {one["layout"]: one for one in found["templates"]}
        assert set(by_layout) == {"0" * 16, *map(to_digits, layouts.values())}
        one = by_layout[to_digits(layouts["article"])]
        assert (one["domain"], one["kind"], one["version"], one["state"], one["versions"]) == (
            DOMAIN,
            "article",
            1,
            "live",
            1,
        )
        assert (one["pages"], one["url_pattern"], one["overrides"]) == (12, "^/posts/[^/]+/?$", 0)

    def test_a_person_reads_a_list(self, learned_shop):
        out = learned_shop[0].run("templates", "list", DOMAIN.upper()).out

        row = next(line for line in out.splitlines() if "^/posts/" in line).split()
        assert row[:1] + row[2:8] == [DOMAIN, "article", "live", "^/posts/[^/]+/?$", "1", "of", "1"]

    def test_show_tells_selectors_with_their_evidence(self, site):
        shop, layout = site

        (found,) = shop.run("templates", "show", DOMAIN, layout[:5], "--json").json["templates"]

        assert found["content"][0]["selector"] == "body > main.post > article > div.text"
        footer = next(one for one in found["exclude"] if one["selector"] == "body > footer.end")
        assert footer["evidence"].endswith("on 20 of 20 pages")
        out = shop.run("templates", "show", DOMAIN, layout).out
        assert f"{DOMAIN}, layout {layout}: article, version 1, live" in out
        assert "Left out\n" in out
        assert footer["evidence"] in out

    def test_without_a_layout_all_are_shown(self, site):
        out = site[0].run("templates", "show", DOMAIN).out

        assert out.count("Versions:") == 3
        assert "layout rest" in out


class TestDeciding:
    def test_a_dry_run_shows_what_would_change_on_stored_pages(self, site):
        shop, layout = site
        call = ["templates", "override", DOMAIN, layout, "--drop", ".lead", "--keep", "aside.bar", "--dry-run"]

        found = shop.run(*call, "--json").json

        assert (found["version"], found["changed"], found["dry_run"], found["trial"]["pages"]) == (None, True, True, 12)
        effect = next(one for one in found["trial"]["effects"] if one["url"] == a_url("posts/hemp"))
        assert (effect["gone"], effect["back"]) == (["Seen by 4 readers of hemp"], [ADVERT])
        assert states(shop, layout) == [(1, "live")]
        out = shop.run(*call).out
        assert "Of 12 stored pages of this layout, 12 would change." in out
        assert out.endswith("Dry run: nothing was written.\n")

    def test_a_decision_is_kept_compared_and_taken_back(self, site):
        shop, layout = site

        told = shop.run("templates", "override", DOMAIN, layout, "--drop", ".lead")
        assert (told.code, told.err) == (0, "")
        assert f"Version 2 of layout {layout} has the decision." in told.out
        assert states(shop, layout) == [(2, "live"), (1, "retired")]

        diff = shop.run("templates", "diff", DOMAIN, layout, "1", "2", "--json").json
        assert diff["decided"] == [{"action": "drop", "selector": ".lead"}]
        assert (diff["before"], diff["after"], diff["verdicts"]) == (1, 2, [])
        assert "+ decided: drop .lead" in shop.run("templates", "diff", DOMAIN, layout, "1", "2").out
        assert "drop .lead" in shop.run("templates", "show", DOMAIN, layout).out

        again = shop.run("templates", "override", DOMAIN, layout, "--drop", ".lead")
        assert "decided already: nothing was changed" in again.out

        dry = shop.run("templates", "rollback", DOMAIN, layout, "--dry-run", "--json").json
        assert (dry["version"], dry["dry_run"], len(dry["trial"]["effects"])) == (1, True, 12)
        assert "Version 1 would be live" in shop.run("templates", "rollback", DOMAIN, layout, "--dry-run").out
        assert "is live again, as it was" in shop.run("templates", "rollback", DOMAIN, layout).out
        assert states(shop, layout) == [(2, "retired"), (1, "live")]

    def test_a_version_may_be_named(self, site):
        shop, layout = site
        shop.run("templates", "override", DOMAIN, layout, "--drop", "h1")
        shop.run("templates", "override", DOMAIN, layout, "--forget", "h1")

        found = shop.run("templates", "rollback", DOMAIN, layout, "1", "--json").json

        assert (found["version"], found["changed"], found["dry_run"]) == (1, True, False)
        assert states(shop, layout) == [(3, "retired"), (2, "retired"), (1, "live")]

    def test_a_selector_that_is_hostile_does_not_act_on_the_terminal(self, site):
        shop, layout = site
        shop.run("templates", "override", DOMAIN, layout, "--drop", '[title="\x1b[2J\u202e"]')

        for call in (["show", DOMAIN, layout], ["diff", DOMAIN, layout, "1", "2"]):
            out = at_a_terminal("dedup", "templates", *call, *shop.settings, folder=shop.folder).out
            assert "⟨U+001B⟩[2J⟨U+202E⟩" in out
            assert "\x1b[2J" not in out


class TestFiles:
    def test_what_is_exported_is_imported_into_a_new_store(self, site, tmp_path):
        shop, layout = site
        shop.run("templates", "override", DOMAIN, layout, "--drop", ".lead")
        told = shop.run("templates", "export", "templates.json")
        assert told.out == "3 templates written to templates.json.\n"
        other = Shop(tmp_path / "other")
        other.folder.mkdir()
        file = str(shop.folder / "templates.json")

        dry = other.run("templates", "import", file, "--dry-run", "--json").json
        assert (dry["added"], dry["unchanged"], dry["dry_run"], dry["domains"]) == (3, 0, True, [DOMAIN])
        assert not other.file.exists()
        assert "3 templates of 1 domain stored, 0 there already." in other.run("templates", "import", file).out
        assert "0 templates of 1 domain stored, 3 there already." in other.run("templates", "import", file).out
        assert other.run("templates", "export").out == (shop.folder / "templates.json").read_text()

    def test_a_file_that_is_none_is_told_in_one_line(self, site):
        shop, _ = site
        file = shop.folder / "templates.json"
        exported = shop.run("templates", "export", "--domain", DOMAIN).json
        exported["templates"][0]["overrides"] = [{"action": "drop", "selector": "\x1b[2J["}]
        file.write_text(json.dumps(exported))

        told = shop.run("templates", "import", str(file))

        assert (told.code, told.out) == (1, "")
        assert "template 1 cannot be used" in told.err
        assert told.err.count("\n") == 1
        assert told.err[:-1].isprintable()
        file.write_bytes(b"\xff")
        assert "templates.json" in shop.run("templates", "import", str(file)).err
        assert shop.run("templates", "import", "no such file").code == 1


def test_json_is_as_documented(learned_shop):
    shop, layouts = learned_shop

    found = shop.run("templates", "layouts", DOMAIN.upper(), "--json").json

    assert found["project"] == "shop"
    (domain,) = found["domains"]
    assert [run["started_at"] for run in domain["runs"]] == [NOON.isoformat(), NOON.replace(day=2).isoformat()]
    article, listing = (
        next(one for one in domain["layouts"] if one["layout"] == to_digits(layouts[kind]))
        for kind in ("article", "listing")
    )
    template = article.pop("template")
    example_url = article.pop("example_url")
    assert article == {
        "layout": to_digits(layouts["article"]),
        "kind": "article",
        "visits": 4,
        "signatures": 1,
        "first_seen_at": NOON.isoformat(),
        "last_seen_at": NOON.isoformat(),
        "pages_by_run": [4, 12],
        "url_pattern": "^/posts/[^/]+/?$",
    }
    assert example_url.startswith(f"https://{DOMAIN}/")
    assert (template["version"], template["state"], template["pages"], template["source"]) == (1, "live", 12, "static")
    assert listing["pages_by_run"] == [4, 0]
    (alarm,) = domain["alarms"]
    assert (alarm["layout"], alarm["pages_failed"], alarm["pages_looked"]) == (to_digits(layouts["listing"]), 9, 10)


def test_a_person_reads_a_table_and_what_is_wrong(learned_shop):
    shop, layouts = learned_shop

    out = shop.run("templates", "layouts").out

    row = next(line for line in out.splitlines() if to_digits(layouts["listing"]) in line)
    assert row.split()[1:4] == ["listing", "1", "live,"]
    assert row.rstrip().endswith("4 > 0")
    assert "Alarm since 2026-03-01 12:00: content root lost ⟨U+001B⟩[2J⟨U+202E⟩" in out
    assert any(line.split()[:1] == ["rest"] for line in out.splitlines())


@pytest.mark.parametrize(
    ("pages", "shown"), [((), ""), ((12,), "12"), ((1, 2, 3, 4, 5, 0, 7_000), "2 > 3 > 4 > 5 > 0 > 7,000")]
)
def test_a_trend_shows_the_last_runs(pages, shown):
    assert trend(pages) == shown
