import pytest

from scrapy_dedup.commands.parts.mine import MinedDomain, Mining, mine_stored, pages_to_mine
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import BARE
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.learned_site import listing, post
from tests.service.stored_pages import DOMAIN, a_url, put, put_text

OTHER = "https://other.example"


def mined(store: Store, project: ProjectStore, batch_pages: int = 1_000) -> Mining:
    read: list[int] = []
    known = pages_to_mine(store, project)
    found = mine_stored(store, project, known, Settings(), read.append, batch_pages=batch_pages)
    assert sum(read) == sum(known.values())
    return found


def only(mining: Mining) -> MinedDomain:
    (domain,) = mining.domains
    return domain


@pytest.mark.parametrize("batch_pages", [25, 40, 99])
def test_batches_find_what_one_batch_finds(store, project, batch_pages):
    put(project, {a_url(f"posts/{number}"): post(f"p{number}") for number in range(60)})
    put(project, {a_url(f"tools/{number}"): listing(f"t{number}") for number in range(40)})
    at_once = only(mined(store, project))

    found = only(mined(store, project, batch_pages))

    assert found.batches == -(-100 // batch_pages)
    assert [(one.layout, one.pages, one.url_pattern, one.structure) for one in found.clusters] == [
        (one.layout, one.pages, one.url_pattern, one.structure) for one in at_once.clusters
    ]


def test_pages_without_items_are_mined_too(store, project):
    """Those that only lead to others give none."""
    put(project, {a_url(f"posts/{name}"): post(name) for name in ("hemp", "jute")})
    put(project, {a_url("tools/wire"): listing("wire")}, field=BARE)

    found = only(mined(store, project))

    assert (found.pages, len(found.clusters)) == (3, 2)


def test_what_is_no_html_is_left_out_and_counted(store, project):
    put(project, {a_url("deep"): "<div>" * 100_000, a_url("page"): post("hemp")})
    put_text(project, ["text"])

    found = only(mined(store, project))

    assert (found.pages, found.left_out) == (1, 2)


def test_structures_that_several_domains_share_are_families(store, project):
    put(project, {f"{host}/{name}": post(name) for host in (OTHER, f"https://{DOMAIN}") for name in ("hemp", "jute")})
    put(project, {a_url("tools/wire"): listing("wire")})

    found = mined(store, project)

    assert [domain.domain for domain in found.domains] == ["other.example", DOMAIN]
    (family,) = found.families
    assert family.domains == (("other.example", 2), (DOMAIN, 2))
