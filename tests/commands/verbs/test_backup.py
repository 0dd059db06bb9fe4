"""`scrapy dedup backup` and `scrapy dedup restore`."""

from pathlib import Path

import pytest

from tests.commands.running import Shop, at_a_terminal, scrapy


@pytest.fixture
def backup(shop: Shop, tmp_path: Path) -> Path:
    file = tmp_path / "shop.backup"
    told = shop.run("backup", str(file), "--json")
    assert told.json["manifest"]["projects"] == ["shop"]
    assert told.json["manifest"]["rows"]["sources"] == 12
    return file


def projects(folder: Path) -> dict[str, int]:
    listed = scrapy("dedup", "projects", "list", "--json", folder=folder)
    return {one["name"]: one["pages"] for one in listed.json["projects"]} if listed.code == 0 else {}


def test_backup_is_restored_where_there_is_no_store(backup: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()

    told = scrapy("dedup", "restore", str(backup), folder=folder)

    assert told.code == 0
    assert told.out.startswith("Restored: 1 project, ")
    assert projects(folder) == {"shop": 12}


def test_store_that_is_not_empty_is_replaced_only_where_that_is_said(shop: Shop, backup: Path) -> None:
    with shop.open() as store:
        store.project("young")

    refused = shop.run("restore", str(backup))
    unasked = shop.run("restore", str(backup), "--replace")
    assert (refused.code, unasked.code) == (1, 2)
    assert "repeat it with --replace" in refused.err
    assert "repeat it with --yes" in unasked.err
    assert projects(shop.folder) == {"shop": 12, "young": 0}

    done = shop.run("restore", str(backup), "--replace", "--yes", "--json").json
    assert [one["name"] for one in done["lost"]] == ["shop", "young"]
    assert Path(done["aside"]).exists()
    assert projects(shop.folder) == {"shop": 12}


@pytest.mark.parametrize(("typed", "left"), [("y\n", {"shop": 12}), ("\n", {"shop": 12, "young": 0})])
def test_at_a_terminal_it_asks(shop: Shop, backup: Path, typed: str, left: dict[str, int]) -> None:
    with shop.open() as store:
        store.project("young")

    told = at_a_terminal("dedup", "restore", str(backup), "--replace", folder=shop.folder, typed=typed)

    assert "To be replaced: the projects of the store" in told.out
    assert "[y/N]" in told.out
    assert projects(shop.folder) == left


@pytest.mark.parametrize(
    ("call", "words"),
    [
        pytest.param(["restore", "nowhere"], "nowhere: No such file", id="no-file"),
        pytest.param(["restore", "scrapy.cfg"], "the backup is damaged", id="no-backup"),
        pytest.param(["backup", "scrapy.cfg"], "it is there already", id="there-already"),
        pytest.param(["backup", "nowhere/file"], "No such file", id="no-folder"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(shop: Shop, call: list[str], words: str) -> None:
    (shop.folder / "scrapy.cfg").write_text("[settings]\n", encoding="utf-8")

    told = shop.run(*call)

    assert told.code == 1
    assert words in told.err
    assert told.err.count("\n") == 1
