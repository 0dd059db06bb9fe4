from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.records.records import VisitRecord
from tests.commands.running import Shop, documented
from tests.service.stored_pages import BANNER, DOMAIN, NOON, a_url, html_page, put


def test_json_is_the_report(finished_shop):
    found = finished_shop.run("report", "--json").json

    assert found.keys() == {
        "project",
        "generated_at",
        "pages_fetched",
        "domains",
        "layers",
        "repeated",
        "samples",
        "recrawl",
        "alarms",
        "drop_alarms",
        "layouts",
        "shadowed",
        "ledger",
    }
    assert (found["project"], found["pages_fetched"], found["recrawl"]) == ("shop", 12, None)
    assert [each["domain"] for each in found["domains"]] == ["other.example", DOMAIN]
    layers = [(each["layer"], each["pages"], each["blocks"]) for each in found["layers"]]
    assert [each for each in layers if each[1] or each[2]] == [("url", 9, 0), ("boilerplate", 0, 12)]
    rows = {each["layer"]: each["pages"] for each in found["ledger"]["run"]["rows"]}
    assert (rows["url"], rows["title"], rows["chunk"]) == (9, 0, None)
    assert (found["ledger"]["all_runs"], found["ledger"]["is_estimate"]) == (None, True)
    assert found["ledger"]["run"]["began_at"] == "2026-03-01T12:00:00Z"
    assert [(each["text"], each["on_pages"], each["of_pages"]) for each in found["repeated"]] == [
        (BANNER, 6, 6),
        ("Menu", 6, 6),
    ]
    assert len(found["samples"]) == 3


def test_a_person_reads_the_same_figures(finished_shop):
    out = finished_shop.run("report").out

    assert "12 pages fetched, " in out
    assert BANNER in out
    assert "6 of 6" in out
    assert "What each layer saved, run of 2026-03-01 12:00 UTC" in out
    assert "Tokens: an estimate, 4 characters each." in out


def test_the_page_is_written(shop):
    file = shop.folder / "a report.html"

    told = shop.run("report", "--html", str(file))
    quiet = shop.run("report", "--html", str(file), "--json")

    assert (told.code, quiet.code) == (0, 0)
    assert f"Report: {file}" in told.out
    html = file.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert BANNER in html


def test_where_no_run_fetched_a_page_that_is_said(tmp_path):
    shop = Shop(tmp_path)
    with shop.open() as store:
        shop.project(store).begin_run(spider="site", jobdir=None, started_at=NOON)

    assert "no pages to report on: no run fetched one; `scrapy dedup runs` tells" in shop.run("report").err


def test_one_run_can_be_asked_for(shop):
    with shop.open() as store:
        project = shop.project(store)
        first = project.last_runs()[0]
        project.begin_run(spider="site", jobdir=None, started_at=first.started_at.replace(hour=20))
        put(project, {a_url("new"): html_page("new")})

    last, by_id = (shop.run("report", "--json", "--run", run).json for run in ("last", str(first.id)[:8]))

    assert (last["pages_fetched"], by_id["pages_fetched"]) == (1, 12)
    dropped = [next(one["pages"] for one in found["layers"] if one["layer"] == "url") for found in (last, by_id)]
    assert dropped == [0, 9]


def test_what_the_crawl_found_is_told_once_it_met_known_pages(shop):
    with shop.open() as store:
        project = shop.project(store)
        run = project.begin_run(spider="site", jobdir=None, started_at=project.last_runs(1)[0].started_at)
        at = project.last_runs(1)[0].started_at
        project.write([VisitRecord(page_key(a_url(0)), at, "get", "changed", "", callback_run=True)])
        project.write([VisitRecord(page_key(a_url(1)), at, "304", "unchanged", "")])

    found = shop.run("report", "--json", "--run", str(run.id)).json["recrawl"]
    out = shop.run("report", "--run", str(run.id)).out

    assert {name: found[name] for name in ("began_at", "changed", "unchanged", "callbacks_saved", "diffs")} == {
        "began_at": at.isoformat().replace("+00:00", "Z"),
        "changed": 1,
        "unchanged": 1,
        "callbacks_saved": 1,
        "diffs": [],
    }
    assert "found of pages: 0 new, 1 changed, 1 unchanged, 0 removed." in out
    assert "It ran 1 callback and spared 1;" in out


def test_the_worst_domain_comes_first_then_the_total(finished_shop):
    lines = [line.split() for line in finished_shop.run("report", "--domains").out.splitlines()]

    assert [line[0] for line in lines[2:5]] == [DOMAIN, "other.example", "Total"]
    assert lines[2][1:4] == ["6", "51", "%"]
    assert " ".join(lines[-1]) == "1 of 2 domains exceeds 10 %."


def test_json_has_the_same_figures_and_what_was_learned(finished_shop):
    found = finished_shop.run("report", "--domains", "--json").json
    other, ours = found["learned"]

    del ours["updated_at"]
    assert (found["domains"], found["total"], ours) == tuple(documented("stats").values())
    assert (found["project"], found["domains_above_10_percent"]) == ("shop", 1)
    assert (other["domain"], other["blocks_boilerplate"]) == ("other.example", 0)
