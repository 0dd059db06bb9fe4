from pathlib import Path

import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.records.records import GoneRecord
from tests.commands.running import Shop, at_a_terminal, here
from tests.databases import locked, postgresql
from tests.service.stored_pages import NOON, a_url
from tests.tables import table

__all__ = ["postgresql"]


def projects(folder: Path, *options: str) -> dict[str, int]:
    listed = here("dedup", "store", "projects", "list", "--json", *options, folder=folder)
    return {one["name"]: one["pages"] for one in listed.json["projects"]} if listed.code == 0 else {}


def test_backup_is_a_store_and_is_restored_where_there_is_none(shop, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    done = shop.run("store", "backup", "shop.backup", "--json").json
    assert done["source"] == "sqlite:///.scrapy/dedup.db"
    assert done["target"] == f"sqlite:///{shop.folder / 'shop.backup'}"
    assert (done["rows"]["projects"], done["rows"]["sources"]) == (1, 12)
    assert projects(elsewhere, "-s", f"DEDUP_DATABASE_URL={done['target']}") == {"shop": 12}

    told = at_a_terminal("dedup", "store", "restore", "../shop.backup", folder=elsewhere)
    assert told.code == 0
    assert f"Copied: 1 project, {sum(done['rows'].values())} rows, to sqlite:///" in told.out
    assert projects(elsewhere) == {"shop": 12}

    # A store that is there is never replaced.
    refused = here("dedup", "store", "restore", "../shop.backup", folder=elsewhere)
    assert refused.code == 1
    assert "dedup.db: it is there already." in refused.err


def test_store_is_copied_to_a_server_and_back(shop, tmp_path, postgresql):
    with postgresql.database() as url:
        server = url.render_as_string(hide_password=False)

        there = shop.run("store", "copy", "--to", server)
        back = shop.run("store", "backup", "back.db", "-s", f"DEDUP_DATABASE_URL={server}")

    assert (there.code, back.code) == (0, 0)
    assert str(url.password) not in there.out + back.out
    assert projects(tmp_path, "-s", f"DEDUP_DATABASE_URL=sqlite:///{shop.folder / 'back.db'}") == {"shop": 12}


@pytest.fixture
def left(shop) -> Shop:
    """A shop one of whose pages is gone for long."""
    with shop.open() as store:
        shop.project(store).write([GoneRecord(page_key(a_url(1)), NOON)])
    return shop


def is_there(shop: Shop) -> bool:
    with shop.open() as store:
        return shop.project(store).page(page_key(a_url(1))) is not None


def test_gc_deletes_only_what_is_old_and_only_where_that_is_said(left):
    rows = {"pages": 1, "claims": 0, "seen_urls": 0}
    told = left.run("store", "gc", "--dry-run")
    assert told.out.startswith("Would be deleted: what nobody needs of project shop\n")
    planned = left.run("store", "gc", "--dry-run", "--json").json
    assert planned == {"project": "shop", "deleted": False, "rows": rows, "total": 1}
    assert left.run("store", "gc", "--yes", "--older-than", "5000d", "--json").json["total"] == 0
    assert is_there(left)

    done = left.run("store", "gc", "--yes", "--json").json
    assert done == planned | {"deleted": True}
    assert not is_there(left)


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1)])
def test_gc_asks_at_a_terminal_where_it_can_write(left, typed, code):
    call = ("dedup", "store", "gc", "-s", "DEDUP_PROJECT=shop", "-s", "DEDUP_DATABASE_TIMEOUT=0.5")
    with locked(left.file):
        busy = at_a_terminal(*call, folder=left.folder, typed=typed)
    told = at_a_terminal(*call, folder=left.folder, typed=typed)

    assert (busy.code, told.code) == (1, code)
    assert "[y/N]" not in busy.out
    assert "Delete what nobody needs of project shop with 1 row? [y/N]" in told.out
    assert is_there(left) == (code == 1)


@table("wrong_calls/store")
def test_what_goes_wrong_is_told_in_one_line_and_changes_nothing(left, call, code, words):
    (left.folder / "scrapy.cfg").write_text("[settings]\n", encoding="utf-8")
    before = left.file.read_bytes()

    settings = [] if "DEDUP_PROJECT" in call else left.settings
    told = here("dedup", "store", *call.split(), *settings, folder=left.folder)

    assert told.code == code
    assert words in told.err
    assert told.err.count("\n") == 1
    assert left.file.read_bytes() == before
    assert not [name for name in ("file", "new.db") if (left.folder / name).exists()]
