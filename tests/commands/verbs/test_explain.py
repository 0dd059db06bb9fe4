from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.records.records import CrawledUrlRecord
from tests.commands.running import documented
from tests.service.stored_pages import BANNER, DOMAIN, NOON, a_url, unique


def test_a_person_reads_keys_crawl_and_reasons(finished_shop):
    out = finished_shop.run("explain", a_url(3)).out

    for part in (
        page_key(a_url(3)).hex(),
        "2026-03-01 12:00 UTC: crawled, status 200, by spider site",
        "Page 3",
        "boilerplate: ",
        "(content by ",
        "body>header",
        BANNER,
        "Rule: template: outside",
    ):
        assert part in out
    assert unique(3) not in out


def test_json_is_as_documented(finished_shop):
    found = finished_shop.run("explain", a_url("3?utm_source=x"), "--json").json

    run = found["crawled"].pop("run")
    document = found.pop("document")
    (decision,) = found.pop("decisions")
    removed = found.pop("removed")
    assert found == documented("explain")["explained"]
    assert run.keys() == {"id", "spider", "status", "started_at"}
    assert (document["title"], document["status"], document["chars_out"]) == ("Page 3", "completed", len(unique(3)))
    assert (decision["layer"], decision["action"], decision["reason"]) == (
        "boilerplate",
        "removed",
        f"2 blocks, {len(BANNER + 'Menu')} of {len(BANNER + 'Menu' + unique(3))} characters",
    )
    del removed[0]["fingerprint"]
    expected = documented("explain")["removed"]
    assert removed[0].pop("evidence").endswith(expected.pop("evidence").partition(" (")[2].partition("), ")[2])
    assert removed[0] == expected


def test_an_alias_leads_to_its_document(shop):
    with shop.open() as store:
        target = page_key(a_url(1))
        alias = CrawledUrlRecord(
            page_key(a_url("old")), a_url("old"), DOMAIN, "alias", NOON, document_key=target, alias_kind="redirect"
        )
        shop.project(store).write([alias])

    of_alias, of_document = shop.run("explain", a_url("old")), shop.run("explain", a_url(1))

    assert f"kept as {a_url(1)}" in " ".join(of_alias.out.split())
    assert "alias (redirect)" in of_alias.out
    assert f"alias       {a_url('old')} (redirect)" in of_document.out


def test_a_url_that_was_never_met_is_told_with_its_key(finished_shop):
    told, as_json = (finished_shop.run("explain", a_url("nowhere"), *more) for more in ([], ["--json"]))

    assert (told.code, as_json.code) == (1, 1)
    assert "This URL was never met in project shop." in told.out
    assert page_key(a_url("nowhere")).hex() in told.out
    assert as_json.json["known"] is False


def test_the_page_is_drawn(shop):
    file = shop.folder / "page 3.html"

    told = shop.run("explain", a_url(3), "--html", str(file))
    quiet = shop.run("explain", a_url(3), "--html", str(file), "--json")

    assert (told.code, quiet.code) == (0, 0)
    assert f"Drawn: {file}" in told.out
    html = file.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert quiet.json["removed"][0]["fingerprint"] in html
    assert "<header><p>" not in html, "nothing of the page's own HTML is in it"
