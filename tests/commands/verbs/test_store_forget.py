import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from tests.commands.running import Shop, at_a_terminal
from tests.service.stored_pages import BANNER, DOMAIN, a_url

# What the shop's other domain does not say.
_WORDS = (DOMAIN.encode(), BANNER.encode())


def left_in(shop: Shop) -> list[bytes]:
    """Return which words of the domain stand in the store's file or in its log."""
    raw = b"".join(path.read_bytes() for path in shop.file.parent.glob(f"{shop.file.name}*"))
    return [word for word in _WORDS if word in raw]


def pages(shop: Shop) -> set[str]:
    urls = [*(a_url(name) for name in range(6)), *(f"https://other.example/{name}" for name in range(6))]
    with shop.open() as store:
        project = shop.project(store)
        return {url for url in urls if project.page(page_key(url)) is not None}


def test_domain_is_forgotten_with_the_names_below_it_once_a_dry_run_has_said_what_would_go(shop):
    before = pages(shop)
    planned = shop.run("store", "forget", "example.com", "--dry-run", "--json").json
    assert (planned["project"], planned["deleted"]) == ("shop", False)
    assert planned["rows"]["documents"] == planned["rows"]["sources"] == 6
    assert planned["total"] == sum(planned["rows"].values())
    assert pages(shop) == before
    assert left_in(shop)

    done = shop.run("store", "forget", "example.com", "--yes", "--json").json

    assert done == planned | {"deleted": True}
    assert left_in(shop) == []
    assert pages(shop) == {f"https://other.example/{name}" for name in range(6)}
    assert shop.run("store", "forget", "example.com", "--yes", "--json").json["total"] == 0


@pytest.mark.parametrize("target", ["exmaple.com", "http://127.0.0.1:1/typo"])
def test_of_what_is_not_known_it_says_so(shop, target):
    told = shop.run("store", "forget", target, "--yes")

    assert (told.code, told.out) == (1, f"Nothing is known of {target} of project shop.\n")


def test_page_is_forgotten_by_any_spelling(shop):
    before = pages(shop)
    done = shop.run("store", "forget", f"{a_url(1)}?utm_source=mail", "--yes", "--json").json

    assert done["rows"]["documents"] == 1
    assert before - pages(shop) == {a_url(1)}


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1)])
def test_it_asks_at_a_terminal(shop, typed, code):
    told = at_a_terminal("dedup", "store", "forget", DOMAIN, *shop.settings, folder=shop.folder, typed=typed)

    assert told.code == code
    assert f"Delete {DOMAIN} of project shop with " in told.out
    assert bool(left_in(shop)) == (code == 1)
