import pytest

from scrapy_dedup.commands.verbs.templates import trend
from scrapy_dedup.core.pages.fingerprints import to_digits
from tests.commands.learned import learned_shop
from tests.commands.running import Shop
from tests.service.stored_pages import DOMAIN, NOON

__all__ = ["learned_shop"]

Learned = tuple[Shop, dict[str, int]]


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
