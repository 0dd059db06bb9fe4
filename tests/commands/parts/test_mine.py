from scrapy_dedup.core.pages.fingerprints import to_digits
from tests.commands.learned import learned_shop
from tests.commands.running import Shop, at_a_terminal
from tests.service.learned_site import FOOTER
from tests.service.stored_pages import DOMAIN, put

__all__ = ["learned_shop"]

Learned = tuple[Shop, dict[str, int]]


def test_json_is_as_documented(learned_shop):
    shop, layouts = learned_shop

    found = shop.run("templates", "mine", "--json").json

    (domain,) = found.pop("domains")
    assert found == {"project": "shop"}
    assert (domain["domain"], domain["pages"], domain["left_out"], domain["batches"]) == (DOMAIN, 20, 0, 1)
    article, listing = domain["clusters"]
    assert article["layout"] == to_digits(layouts["article"])
    assert (article["kind"], article["pages"], article["url_pattern"]) == ("article", 12, "^/posts/[^/]+/?$")
    assert (listing["kind"], listing["pages"]) == ("listing", 8)
    assert FOOTER in [one["text"] for one in article["common"]]
    assert article["varying"][0].keys() == {"path", "pages", "same", "chars"}
    assert article["reason"]
    assert article["examples"][0].startswith(f"https://{DOMAIN}/posts/")


def test_a_person_reads_what_pages_share_and_where_they_differ(learned_shop):
    out = learned_shop[0].run("templates", "mine", "--domain", DOMAIN.upper()).out

    lines = [" ".join(line.split()) for line in out.replace("\N{NO-BREAK SPACE}", " ").splitlines()]
    assert lines[0] == f"{DOMAIN}: 20 pages, 2 clusters"
    assert any(line.startswith("article 12 (60 %)") for line in lines)
    assert "URLs ^/tools/[^/]+/?$" in lines
    assert any(line.startswith("common") and FOOTER in line for line in lines)
    assert any(line.startswith("varying") and "main.post" in line for line in lines)


def test_domains_that_share_a_structure_are_listed(shop):
    """Both domains of the shop have the same design."""
    found = shop.run("templates", "mine", "--all-domains", "--json").json

    assert found["families"][0]["domains"] == [{"domain": "other.example", "pages": 6}, {"domain": DOMAIN, "pages": 6}]
    assert "other.example, www.example.com" in shop.run("templates", "mine", "--all-domains").out


def test_that_no_structure_is_shared_is_said(learned_shop):
    assert "No structure is shared by two of 1 domain." in learned_shop[0].run("templates", "mine", "--all-domains").out


def test_nothing_that_a_page_says_acts_on_the_terminal(shop):
    hostile = "<html><title>\x1b[2J</title><body><main class='\x1b[2J\u202e'><p>\x1b[2J\u202e text</p></main>"
    with shop.open() as store:
        put(shop.project(store), {f"https://hostile.example/{n}\u202e": hostile for n in range(3)})

    out = at_a_terminal("dedup", "templates", "mine", *shop.settings, folder=shop.folder).out

    assert "hostile.example" in out
    assert "\x1b[2J" not in out
    assert "\u202e" not in out
