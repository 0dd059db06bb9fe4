from tests.commands.running import Shop
from tests.service.stored_pages import BANNER, DOMAIN, a_url, html_page, put


def test_json_is_the_report(finished_shop: Shop) -> None:
    found = finished_shop.run("report", "--json").json

    assert found.keys() == {
        "project",
        "generated_at",
        "pages_fetched",
        "domains",
        "layers",
        "repeated",
        "samples",
    }
    assert (found["project"], found["pages_fetched"]) == ("shop", 12)
    assert [each["domain"] for each in found["domains"]] == ["other.example", DOMAIN]
    assert [(each["layer"], each["pages"], each["blocks"]) for each in found["layers"]] == [
        ("url", 9, 0),
        ("canonical", 0, 0),
        ("boilerplate", 0, 12),
    ]
    assert [(each["text"], each["on_pages"], each["of_pages"]) for each in found["repeated"]] == [
        (BANNER, 6, 6),
        ("Menu", 6, 6),
    ]
    assert len(found["samples"]) == 3


def test_a_person_reads_the_same_figures(finished_shop: Shop) -> None:
    out = finished_shop.run("report").out

    assert "12 pages fetched, " in out
    assert BANNER in out
    assert "6 of 6" in out


def test_the_page_is_written(shop: Shop) -> None:
    file = shop.folder / "a report.html"

    told = shop.run("report", "--html", str(file))
    quiet = shop.run("report", "--html", str(file), "--json")

    assert (told.code, quiet.code) == (0, 0)
    assert f"Report: {file}" in told.out
    html = file.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert BANNER in html


def test_a_file_that_cannot_be_written_is_told(finished_shop: Shop) -> None:
    file = finished_shop.folder / "no such folder" / "report.html"

    told = finished_shop.run("report", "--html", str(file))

    assert (told.code, told.out) == (1, "")
    assert f"the report cannot be written to {file}: No such file or directory" in told.err


def test_one_run_can_be_asked_for(shop: Shop) -> None:
    with shop.open() as store:
        project = shop.project(store)
        first = project.last_runs()[0]
        project.begin_run(spider="site", jobdir=None, started_at=first.started_at.replace(hour=20))
        put(project, {a_url("new"): html_page("new")})

    last, by_id = (shop.run("report", "--json", "--run", run).json for run in ("last", str(first.id)))

    assert (last["pages_fetched"], by_id["pages_fetched"]) == (1, 12)
    assert (last["layers"][0]["pages"], by_id["layers"][0]["pages"]) == (0, 9)


def test_a_run_that_is_not_there_is_told(finished_shop: Shop) -> None:
    told = finished_shop.run("report", "--run", "yesterday")

    assert (told.code, told.out) == (1, "")
    assert "has no run 'yesterday': give the id of one, or last" in told.err
