import json
import shutil
from pathlib import Path

import pytest
from sqlalchemy import text

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.store.records import VisitRecord
from tests.commands.running import Outcome, Shop, at_a_terminal
from tests.service.cached import a_page, fill, rows
from tests.service.stored_pages import DOMAIN, NOON, a_url

HOSTILE = f"https://{DOMAIN}/\u202egnp.\x1b[31m<b>"


@pytest.fixture(scope="session")
def filled_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Three pages, extracted by one run; the next one needed to extract only the first again."""
    shop = Shop(tmp_path_factory.mktemp("cached"))
    with shop.open() as store:
        project = shop.project(store)
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        fill(project)
        later = NOON.replace(day=2)
        run = project.begin_run(spider="site", jobdir=None, started_at=later)
        answers = [VisitRecord(page_key(a_url(name)), later, "304", "unchanged", "not modified") for name in (1, 2)]
        again = VisitRecord(page_key(a_url(0)), later, "get", "changed", "main text differs", callback_run=True)
        project.write([*answers, again])
        project.end_run(run.id, status="finished", reason="finished", stats={}, finished_at=later)
    return shop


@pytest.fixture
def shop(filled_shop: Shop, tmp_path: Path) -> Shop:
    shutil.copytree(filled_shop.folder, tmp_path, dirs_exist_ok=True)
    return Shop(tmp_path)


def cache(shop: Shop, *arguments: str) -> Outcome:
    return shop.run("cache", *arguments)


def extractions(shop: Shop) -> int:
    with shop.open() as store:
        return len(list(shop.project(store).iterate_extractions()))


class TestStats:
    def test_says_what_was_spared(self, filled_shop: Shop) -> None:
        told = cache(filled_shop, "stats", "--price", "0.25")

        assert "run of site, 2026-03-02 12:00 UTC" in told.out
        assert "1 callback run, 2 spared" in told.out
        assert "Saved at 0.25 a callback: 0.50." in told.out
        assert "believed: 28 of 29 unchanged pages were not sent again" in told.out

    def test_json_is_as_documented(self, filled_shop: Shop) -> None:
        found = cache(filled_shop, "stats", "--json", "--all", "--price", "2").json

        (domain,) = found.pop("domains")
        assert (found["project"], found["run"], found["price"], found["money_saved"]) == ("shop", None, 2, 4)
        assert found.keys() == {"project", "run", "price", "money_saved", "total"}
        assert domain.pop("validators") == {
            "sent": 30,
            "not_modified": 28,
            "useless": 1,
            "changed_304": 0,
            "trusted": True,
            "reason": "28 of 29 unchanged pages were not sent again",
        }
        assert domain.pop("lastmod") is None
        assert domain == {**found["total"], "domain": DOMAIN}
        assert (domain["visits"], domain["callbacks_run"], domain["callbacks_saved"]) == (6, 4, 2)
        assert domain["hit_rate"] == pytest.approx(1 / 3)
        assert domain["ways"]["304"] == {"pages": 2, "bytes_saved": 2000, "seconds_saved": pytest.approx(0.75)}


class TestList:
    def test_names_the_pages(self, filled_shop: Shop) -> None:
        table, found = (
            cache(filled_shop, "list"),
            cache(filled_shop, "list", "--domain", DOMAIN, "--limit", "1", "--json"),
        )

        assert [line.split()[:3] for line in table.out.splitlines()[2:]] == [
            [a_url(0), "3", "2"],
            [a_url(1), "1", "1"],
            [a_url(2), "1", "1"],
        ]
        assert found.json["total"] == 3
        (page,) = found.json["pages"]
        assert page.keys() == {"url", "domain", "extractions", "current", "packed_bytes", "extracted_at"}

    def test_says_how_many_more_there_are(self, filled_shop: Shop) -> None:
        assert "1 more: --limit 0 lists all." in cache(filled_shop, "list", "--limit", "2").out


class TestShow:
    def test_a_person_reads_record_and_extractions(self, filled_shop: Shop) -> None:
        out = cache(filled_shop, "show", a_url(0)).out

        for part in ("Page 0", "main text differs", '"x"', "parse, version 2: items not kept, 3 requests", "9.90"):
            assert part in out

    def test_json_is_as_documented(self, filled_shop: Shop) -> None:
        found = cache(filled_shop, "show", a_url("old"), "--json").json

        assert (found["known"], found["stands_for"]) == (True, a_url(0))
        assert found["record"].keys() == {
            "content_hash",
            "last_extracted",
            "extraction_file",
            "metadata_file",
            "url_hash",
        }
        assert found["validators"]["etag"] == '"x"'
        assert found["validators"]["trusted"] is True
        kinds = [(one["callback"], one["current"], one["requests"], one["unkeepable"]) for one in found["extractions"]]
        assert sorted(kinds) == [("other", True, 3, None), ("parse", False, 3, None), ("parse", True, 3, None)]

    def test_what_is_unknown_is_told(self, filled_shop: Shop) -> None:
        told, found = cache(filled_shop, "show", a_url(9)), cache(filled_shop, "show", a_url(9), "--json")

        assert (told.code, found.code, found.json["known"]) == (1, 1, False)
        assert "never seen" in told.out

    def test_what_a_page_says_does_not_act_on_the_terminal(self, shop: Shop) -> None:
        with shop.open() as store:
            shop.project(store).write(a_page("\x1b[2J", url=HOSTILE, text="x"))

        shown, listed = cache(shop, "show", HOSTILE), cache(shop, "list")

        assert shown.code == 0
        for out in (shown.out, listed.out):
            assert "\x1b" not in out
            assert "\u202e" not in out


@pytest.mark.parametrize(
    ("arguments", "deleted"),
    [
        pytest.param(["invalidate", a_url(0), a_url(1)], 4, id="urls"),
        pytest.param(["invalidate", "--domain", DOMAIN], 5, id="domain"),
        pytest.param(["invalidate", "--pattern", f"{DOMAIN}/2"], 1, id="pattern"),
        pytest.param(["invalidate", "--all"], 5, id="all"),
        pytest.param(["expire", "--older-than", "1h"], 5, id="expire"),
        pytest.param(["gc"], 1, id="gc"),
    ],
)
def test_what_deletes_has_a_dry_run(shop: Shop, arguments: list[str], deleted: int) -> None:
    action, *rest = arguments

    would = cache(shop, action, "--dry-run", *rest, "--json")
    assert (would.code, would.json["dry_run"], would.json["extractions"]) == (0, True, deleted)
    assert extractions(shop) == 5

    did = cache(shop, *arguments)
    assert did.out.startswith(f"Deleted: {deleted} extraction")
    assert extractions(shop) == 5 - deleted


def test_a_dry_run_says_so(shop: Shop) -> None:
    told = cache(shop, "invalidate", "--all", "--dry-run")

    assert "Would be deleted: 5 extractions" in told.out
    assert "Dry run: nothing was deleted." in told.out


def test_pages_that_are_not_there_are_told(shop: Shop) -> None:
    told = cache(shop, "invalidate", a_url(0), a_url(9))

    assert told.code == 1
    assert f"{a_url(9)}: there is no such page" in told.err
    assert extractions(shop) == 2


class TestVerify:
    @pytest.fixture
    def damaged(self, shop: Shop) -> Shop:
        with shop.open() as store, store.session() as session:
            statement = text("UPDATE extractions SET items = x'01' WHERE page_key = :key")
            session.execute(statement, {"key": page_key(a_url(1))})
            session.commit()
        return shop

    def test_sound(self, filled_shop: Shop) -> None:
        told = cache(filled_shop, "verify")

        assert (told.code, told.out) == (0, "Checked: 3 pages with 5 extractions.\nAll is as it was stored.\n")

    def test_damaged(self, damaged: Shop) -> None:
        told, found = cache(damaged, "verify"), cache(damaged, "verify", "--json")

        assert (told.code, found.code) == (1, 1)
        assert "Damaged: extraction 1. With --fix" in told.out
        assert f"{a_url(1)}: extraction: " in told.err
        assert found.json["damaged"] == {"extraction": 1}
        assert [one["url"] for one in found.json["damages"]] == [a_url(1)]

    def test_fixed_after_a_dry_run(self, damaged: Shop) -> None:
        would = cache(damaged, "verify", "--fix", "--dry-run")
        assert "would be deleted" in would.out
        assert extractions_of_other_pages(damaged) == 5

        did = cache(damaged, "verify", "--fix")

        assert (would.code, did.code) == (1, 0)
        assert "Damaged and deleted: extraction 1." in did.out
        assert cache(damaged, "verify").code == 0


def extractions_of_other_pages(shop: Shop) -> int:
    with shop.open() as store, store.session(read_only=True) as session:
        return session.scalar(text("SELECT count(*) FROM extractions")) or 0


class TestExportAndImport:
    def test_bring_everything_back_after_the_store_was_deleted(self, shop: Shop) -> None:
        with shop.open() as store:
            before = rows(store, shop.project(store))
        exported = cache(shop, "export", "backup")
        shutil.rmtree(shop.file.parent)

        would = cache(shop, "import", "backup", "--dry-run")
        assert not shop.file.exists()
        did = cache(shop, "import", "backup")

        assert exported.out == "Exported: 3 pages to backup; 6 files written, 0 removed.\n"
        assert would.out.startswith("Would be imported: 3 pages, 5 extractions, 2 other URLs, 1 domain.")
        assert did.out == "Imported: 3 pages, 5 extractions, 2 other URLs, 1 domain.\n"
        with shop.open() as store:
            assert rows(store, shop.project(store)) == before

    def test_a_dry_run_adds_no_project(self, shop: Shop) -> None:
        cache(shop, "export", "backup")

        told = shop.run("cache", "import", "backup", "--dry-run", "-s", "DEDUP_PROJECT=other")
        would = cache(shop, "import", "backup", "--dry-run", "--json")

        assert told.code == 0
        assert (would.json["pages"], would.json["pages_held"], would.json["dry_run"]) == (0, 3, True)
        with shop.open() as store:
            assert store.find_project("other") is None

    def test_damage_is_told_and_the_rest_comes(self, shop: Shop) -> None:
        cache(shop, "export", "backup")
        index = json.loads((shop.folder / "backup" / "content_index.json").read_text())
        (shop.folder / "backup" / index[a_url(1)]["extraction_file"]).unlink()
        path = shop.folder / "backup" / index[a_url(2)]["extraction_file"]
        path.write_bytes(path.read_bytes().replace(b"What it says", b"What it Says"))
        shutil.rmtree(shop.file.parent)

        told = cache(shop, "import", "backup")

        assert told.code == 0
        assert told.out.startswith("Imported: 1 page, 3 extractions")
        assert f"{a_url(1)}: is missing: its entry is dropped" in told.err
        assert f"{a_url(2)}: was altered" in told.err

    def test_a_damaged_index_is_made_anew(self, shop: Shop) -> None:
        cache(shop, "export", "backup")
        path = shop.folder / "backup" / "content_index.json"
        path.write_bytes(path.read_bytes()[:100])
        shutil.rmtree(shop.file.parent)

        told = cache(shop, "import", "backup")

        assert "the index is made anew from the extraction files" in told.err
        assert told.out.startswith("Imported: 3 pages")

    def test_json_is_as_documented(self, shop: Shop) -> None:
        exported, imported = cache(shop, "export", "x", "--json").json, cache(shop, "import", "x", "--json").json

        assert exported == {
            "folder": "x",
            "pages": 3,
            "files_written": 6,
            "files_removed": 0,
            "pages_left_out": 0,
            "left_out": [],
        }
        assert imported == {
            "folder": "x",
            "dry_run": False,
            "pages": 0,
            "extractions": 0,
            "urls": 0,
            "domains": 0,
            "pages_held": 3,
            "index_rebuilt": None,
            "problems_by_kind": {},
            "problems": [],
            "files_left": 0,
        }

    def test_a_folder_with_other_things_is_refused(self, shop: Shop) -> None:
        (shop.folder / "mine").mkdir()
        (shop.folder / "mine" / "thesis.txt").write_text("mine")

        told = cache(shop, "export", "mine")

        assert told.code == 1
        assert "is not empty and holds no content_index.json: name an empty folder" in told.err

    def test_at_a_terminal_there_is_a_bar(self, shop: Shop) -> None:
        told = at_a_terminal("dedup", "cache", "export", "x", *shop.settings, folder=shop.folder)

        assert (told.code, "3/3" in told.out, "Exported: 3 pages" in told.out) == (0, True, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "cache needs an action: stats, list", id="no-action"),
        pytest.param(["clear"], "invalid choice: 'clear'", id="unknown-action"),
        pytest.param(["stats", "--fix"], "cache stats takes no --fix", id="option-of-another"),
        pytest.param(["stats", a_url(1)], "cache stats takes nothing, and 1 were given", id="target"),
        pytest.param(["stats", "--price", "nan"], "'nan' is no price", id="price"),
        pytest.param(["list", "--limit", "-1"], "is no number of pages", id="limit"),
        pytest.param(["show"], "cache show takes a URL", id="no-url"),
        pytest.param(["show", "nonsense"], "is no URL of a page", id="nonsense"),
        pytest.param(["invalidate"], "needs one of: URLs, --domain, --pattern, --all", id="nothing-chosen"),
        pytest.param(["invalidate", "--all", "--domain", "a"], "needs one of", id="too-much-chosen"),
        pytest.param(["expire"], "needs --older-than AGE, such as --older-than 30d", id="no-age"),
        pytest.param(["expire", "--older-than", "soon"], "'soon' is no age", id="age"),
        pytest.param(["expire", "--older-than", "9" * 400 + "w"], "is no age", id="endless-age"),
        pytest.param(["export", "a", "b"], "cache export takes a folder, and 2 were given", id="two-folders"),
        pytest.param(["import", "nowhere"], "is no folder: name one", id="no-folder"),
    ],
)
def test_a_wrong_call_says_what_to_do(filled_shop: Shop, arguments: list[str], words: str) -> None:
    told = cache(filled_shop, *arguments)

    assert told.code == 2
    assert words in told.err
    assert len(told.err.splitlines()) == 1


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    told = Shop(tmp_path).run("cache", "stats")

    assert told.code == 1
    assert "Run a crawl first" in told.err
    assert not Shop(tmp_path).file.exists()
