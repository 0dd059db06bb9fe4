import pytest

from tests.commands.running import Shop, at_a_terminal, here
from tests.tables import table

ROWS = {
    "crawl_runs": 1,
    "crawled_urls": 12,
    "decisions": 6,
    "documents": 12,
    "domain_boilerplate": 2,
    "layout_templates": 4,
    "projects": 1,
    "sources": 12,
}


def names(shop: Shop) -> list[str]:
    listed = here("dedup", "store", "projects", "list", "--json", folder=shop.folder)
    return [project["name"] for project in listed.json["projects"]] if listed.code == 0 else []


def test_projects_are_listed_with_their_figures(shop):
    with shop.open() as store:
        store.project("blog")

    found, table = (here("dedup", "store", "projects", "list", *more, folder=shop.folder) for more in (["--json"], []))

    blog, ours = found.json["projects"]
    assert (blog["name"], blog["pages"]) == ("blog", 0)
    assert (ours["name"], ours["pages"], ours["runs"]) == ("shop", 12, 1)
    assert ours.keys() == {"id", "name", "pages", "runs", "stored_bytes", "created_at"}
    assert [line.split()[:3] for line in table.out.splitlines()[2:]] == [["blog", "0", "0"], ["shop", "12", "1"]]


def test_yes_deletes_without_a_question_and_a_dry_run_nothing_whatever_else_is_said(shop):
    call = ["dedup", "store", "projects", "delete", "shop", "--yes", "--json"]

    would = here(*call, "--dry-run", folder=shop.folder)
    assert would.json == {"project": "shop", "deleted": False, "rows": ROWS, "total": 50}
    assert names(shop) == ["shop"]

    assert here(*call, folder=shop.folder).json == would.json | {"deleted": True}
    assert names(shop) == []


@table("commands/projects_questions")
def test_at_a_terminal_it_asks(shop, typed, code, left):
    told = at_a_terminal("dedup", "store", "projects", "delete", "shop", folder=shop.folder, typed=typed)

    assert told.code == code
    assert "Would be deleted: project shop" in told.out
    assert "Delete project shop with 50 rows? [y/N]" in told.out
    assert names(shop) == left


@pytest.mark.parametrize("more", [[], ["--json"], ["--dry-run"], ["--yes"]])
def test_an_unknown_project_is_no_reason_to_delete_another(shop, more):
    told = here("dedup", "store", "projects", "delete", "shap", *more, folder=shop.folder)

    assert told.code == (1 if more in (["--dry-run"], ["--yes"]) else 2)
    assert names(shop) == ["shop"]
