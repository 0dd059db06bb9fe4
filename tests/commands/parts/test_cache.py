import json
import shutil

import pytest
from sqlalchemy import text

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.records.records import VisitRecord
from scrapy_dedup.store.upkeep.cache import StoredMemos
from tests.commands.running import Outcome, Shop, at_a_terminal
from tests.service.cached import a_page, fill, rows
from tests.service.stored_pages import DOMAIN, NOON, a_url
from tests.tables import table

HOSTILE = f"https://{DOMAIN}/\u202egnp.\x1b[31m<b>"


@pytest.fixture(scope="session")
def filled_shop(tmp_path_factory) -> Shop:
    """Three pages, extracted by one run; the next one needed to extract only the first again."""
    shop = Shop(tmp_path_factory.mktemp("cached"))
    with shop.open() as store:
        project = shop.project(store)
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        fill(project)
        StoredMemos(project, 10**6).keep(bytes(32), "models.ask", "1", NOON)
        later = NOON.replace(day=2)
        run = project.begin_run(spider="site", jobdir=None, started_at=later)
        answers = [VisitRecord(page_key(a_url(name)), later, "304", "unchanged", "not modified") for name in (1, 2)]
        again = VisitRecord(page_key(a_url(0)), later, "get", "changed", "main text differs", callback_run=True)
        project.write([*answers, again])
        project.end_run(run.id, status="finished", reason="finished", stats={}, finished_at=later)
    return shop


@pytest.fixture
def shop(filled_shop, tmp_path) -> Shop:
    shutil.copytree(filled_shop.folder, tmp_path, dirs_exist_ok=True)
    return Shop(tmp_path)


def cache(shop: Shop, *arguments: str) -> Outcome:
    return shop.run("store", "cache", *arguments)


def extractions(shop: Shop) -> int:
    with shop.open() as store, store.session(read_only=True) as session:
        return session.scalar(text("SELECT count(*) FROM extractions")) or 0


def test_stats_say_what_was_spared(filled_shop):
    told, found = cache(filled_shop, "stats"), cache(filled_shop, "stats", "--json").json

    assert "Cache of project shop: run of site, 2026-03-02 12:00 UTC" in told.out
    assert [line.split()[:7] for line in told.out.splitlines() if line.startswith(DOMAIN)] == [
        [DOMAIN, "3", "2", "1", "67", "%", "2"]
    ]
    assert "5 extractions held in" in told.out
    assert ", 1 memo in 2" in told.out
    assert found["memos"]["memos"] == 1
    (domain,) = found["domains"]
    assert (found["project"], found["run"]["spider"]) == ("shop", "site")
    assert found["run"]["started_at"] == "2026-03-02T12:00:00+00:00"
    assert domain == {**found["total"], "domain": DOMAIN}
    assert (domain["visits"], domain["hits"], domain["misses"], domain["not_modified"]) == (3, 2, 1, 2)
    assert (domain["hit_rate"], domain["bytes_saved"]) == (pytest.approx(2 / 3), 1500)


@table("commands/cache_deletions")
def test_what_deletes_has_a_dry_run(shop, arguments, deleted, memos):
    action, *rest = arguments

    would = cache(shop, action, "--dry-run", *rest)
    found = cache(shop, action, "--dry-run", *rest, "--json")
    assert would.out.startswith(f"Would be deleted: {deleted} extraction")
    assert (found.code, found.json["dry_run"], found.json["extractions"]) == (0, True, deleted)
    assert (extractions(shop), found.json["memos"]) == (5, memos)

    did = cache(shop, *arguments)
    assert did.out.startswith(f"Deleted: {deleted} extraction")
    assert extractions(shop) == 5 - deleted
    assert cache(shop, "stats", "--json").json["memos"]["memos"] == 1 - memos


def test_pages_that_are_not_there_are_told(shop):
    told = cache(shop, "invalidate", a_url(0), a_url(9))

    assert told.code == 1
    assert f"{a_url(9)}: there is no such page" in told.err
    assert extractions(shop) == 2
    assert cache(shop, "invalidate", "--domain", "nope.example").err.endswith("nope.example: there is no such page\n")


def test_damage_is_told_and_fixed_after_a_dry_run(shop):
    sound = cache(shop, "verify")
    assert (sound.code, sound.out) == (0, "Checked: 3 pages with 5 extractions.\nAll is as it was stored.\n")
    with shop.open() as store, store.session() as session:
        statement = text("UPDATE extractions SET items = x'01' WHERE page_key = :key")
        session.execute(statement, {"key": page_key(a_url(1))})
        session.commit()

    would, found = cache(shop, "verify", "--fix", "--dry-run"), cache(shop, "verify", "--json")
    assert (would.code, found.code, extractions(shop)) == (1, 1, 5)
    assert "Damaged: extraction 1. With --fix" in would.out
    assert f"{a_url(1)}: extraction: " in would.err
    assert (found.json["damaged"], found.json["fixed"]) == ({"extraction": 1}, False)
    assert [(one["url"], one["part"]) for one in found.json["damages"]] == [(a_url(1), "extraction")]

    did = cache(shop, "verify", "--fix")
    assert (did.code, extractions(shop)) == (0, 4)
    assert "Damaged and deleted: extraction 1." in did.out


class TestTree:
    def test_brings_everything_back_after_the_store_was_deleted(self, shop):
        with shop.open() as store:
            before = rows(store, shop.project(store))
        exported = cache(shop, "export", "tree")
        assert shop.run("store", "cache", "import", "tree", "--dry-run", "-s", "DEDUP_PROJECT=other").code == 0
        with shop.open() as store:
            assert store.find_project("other") is None
        shutil.rmtree(shop.file.parent)

        would = cache(shop, "import", "tree", "--dry-run")
        assert not shop.file.exists()
        did, again = cache(shop, "import", "tree"), cache(shop, "import", "tree", "--json")

        assert exported.out == "Exported: 3 pages to tree.\n"
        assert would.out.startswith("Would be imported: 3 pages, 5 extractions;")
        assert did.out.startswith("Imported: 3 pages, 5 extractions;")
        assert again.json == {
            "pages": 0,
            "extractions": 5,
            "pages_held": 3,
            "pages_left_out": 0,
            "index_rebuilt": None,
            "problems": [],
        }
        with shop.open() as store:
            assert rows(store, shop.project(store)) == before

    def test_damage_is_told_and_the_rest_comes(self, shop):
        """Nor does what a page says act on the terminal."""
        with shop.open() as store:
            shop.project(store).write(a_page("x", url=HOSTILE))
        cache(shop, "export", "tree")
        index = json.loads((shop.folder / "tree" / "content_index.json").read_text())
        for url in (a_url(1), HOSTILE):
            (shop.folder / "tree" / index[url]["extraction_file"]).unlink()
        path = shop.folder / "tree" / index[a_url(2)]["extraction_file"]
        path.write_bytes(path.read_bytes().replace(b"What it says", b"What it Says"))
        shutil.rmtree(shop.file.parent)

        told = cache(shop, "import", "tree")

        assert told.code == 0
        assert told.out.startswith("Imported: 1 page, 3 extractions")
        assert (
            f"{a_url(1)} ({index[a_url(1)]['extraction_file']}) is left out: is missing; the page is done again"
            in told.err
        )
        assert "is left out: was altered" in told.err
        assert "⟨U+202E⟩" in told.err
        assert not {"\x1b", "\u202e"} & set(told.err)

        (shop.folder / "tree" / "content_index.json").unlink()
        told = cache(shop, "import", "tree", "--dry-run")
        assert "content_index.json is missing: the extraction files are taken for it" in told.err

    def test_at_a_terminal_there_is_a_bar(self, shop):
        told = at_a_terminal("dedup", "store", "cache", "export", "x", *shop.settings, folder=shop.folder)

        assert (told.code, "3/3" in told.out, "Exported: 3 pages" in told.out) == (0, True, True)
