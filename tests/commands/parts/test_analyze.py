from tests.commands.running import Shop, at_a_terminal, documented
from tests.service.stored_pages import BANNER, DOMAIN, cleaned, html_page, put, unique
from tests.tables import table


def kept_of_page_0(shop: Shop) -> str:
    with shop.open() as store:
        return cleaned(shop.project(store), 0) or ""


def test_json_has_parameters_sums_and_domains(shop):
    told = shop.run("templates", "analyze", "--json", "--threshold-pct", "0.5", "--min-pages", "3")

    assert told.json == documented("analyze")["analyzed"]


def test_what_is_found_is_stored(shop):
    assert kept_of_page_0(shop) == unique(0)

    told = shop.run("templates", "analyze", "--min-pages", "20")

    assert (told.code, told.err) == (0, "")
    assert "0 of 2 domains with boilerplate, 0 pages cut" in told.out
    assert kept_of_page_0(shop).startswith(BANNER)


def test_a_dry_run_says_so_and_stores_nothing(shop):
    told = shop.run("templates", "analyze", "--dry-run", "--min-pages", "20")

    assert told.out.endswith("Dry run: nothing was written.\n")
    assert kept_of_page_0(shop) == unique(0)


@table("commands/analyzed_parts")
def test_a_part_can_be_analysed(shop, arguments, domains):
    told = shop.run("templates", "analyze", "--json", "--min-pages", "20", *arguments)

    assert [each["domain"] for each in told.json["domain_results"]] == domains
    assert kept_of_page_0(shop).startswith(BANNER)


def test_the_domain_that_loses_most_comes_first(shop):
    with shop.open() as store:
        put(shop.project(store), {f"https://a.example/{n}": html_page(n, BANNER, BANNER + "!") for n in range(6)})

    out = shop.run("templates", "analyze").out

    assert out.index("a.example") < out.index(DOMAIN) < out.index("other.example")


def test_a_terminal_shows_a_bar(shop):
    told = at_a_terminal("dedup", "templates", "analyze", *shop.settings, folder=shop.folder)

    assert told.code == 0
    assert "24/24" in told.out


def test_a_store_that_another_holds_is_not_waited_for_without_end(shop):
    with shop.open() as store, store.session() as session:
        session.connection()

        told = shop.run("templates", "analyze", "-s", "DEDUP_DATABASE_TIMEOUT=0.2")

    assert (told.code, told.out) == (1, "")
    assert "locked" in told.err
    assert told.err.count("\n") == 1
