import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.cache_export import export_cache
from scrapy_dedup.service.cache_files import extraction_file, from_bytes, to_bytes, url_hash
from scrapy_dedup.service.cache_import import Import, NoCacheError, import_cache
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import CrawledUrlRecord, DocumentRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored_visits import ExtractionChoice
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import Server, postgresql
from tests.service.cached import a_domain, a_page, fill, rows
from tests.service.stored_pages import DOMAIN, NOON, a_url

__all__ = ["postgresql"]

Edit = Callable[[dict[str, Any]], Any]


def file_of(folder: Path, name: object) -> Path:
    return folder / extraction_file(url_hash(a_url(name)))


def seen(store: Store, project: ProjectStore) -> set[str]:
    return {row["url"] for row in rows(store, project)["documents"]}


def edit(path: Path, change: Edit) -> None:
    """Change an extraction file as somebody would who knows how it is sealed."""
    held = from_bytes(path.read_bytes())
    held.pop("checksum")
    change(held)
    path.write_bytes(to_bytes(held, sealed=True))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The export of a project with pages 0 to 2."""
    with Store.open("sqlite://") as store:
        project = store.project("shop")
        fill(project)
        export_cache(store, project, tmp_path / "x")
    return tmp_path / "x"


def take(store: Store, project: ProjectStore, tree: Path, *, dry_run: bool = False, **settings: Any) -> Import:
    return import_cache(store, project, tree, Settings(**settings), dry_run=dry_run)


class TestRoundTrip:
    @pytest.fixture(params=["sqlite", "postgresql"])
    def other(self, request: pytest.FixtureRequest) -> Iterator[Store]:
        if request.param == "sqlite":
            with Store.open("sqlite://") as opened:
                yield opened
            return
        server: Server = request.getfixturevalue("postgresql")
        with server.new_store() as url, Store.open(url) as opened:
            yield opened

    def test_every_row_that_a_crawl_asks_for_comes_back(
        self, store: Store, project: ProjectStore, other: Store, tmp_path: Path
    ) -> None:
        fill(project)
        export_cache(store, project, tmp_path / "x")

        done = take(other, other.project("shop"), tmp_path / "x")

        assert rows(other, other.project("shop")) == rows(store, project)
        assert done == Import(pages=3, extractions=5, urls=2, domains=1)

    def test_from_one_database_to_the_other_and_back(self, other: Store, tree: Path, tmp_path: Path) -> None:
        there = other.project("shop")
        take(other, there, tree)

        export_cache(other, there, tmp_path / "again")

        names = [path.relative_to(tree) for path in (tree / "extractions").iterdir()]
        assert len(names) == 3
        for name in [*names, Path("content_index.json")]:
            assert (tmp_path / "again" / name).read_bytes() == (tree / name).read_bytes()


def test_what_a_crawl_asks_of_a_page_is_answered_as_before(store: Store, project: ProjectStore, tree: Path) -> None:
    take(store, project, tree)

    key = page_key(a_url(0))
    state = project.page_states([key])[key]
    assert (state.http_status, state.etag, len(state.memo_keys)) == (200, '"x"', 3)
    assert all(project.extraction(memo_key) for memo_key in state.memo_keys)
    assert project.is_known(DOMAIN)
    assert project.document_keys([page_key(a_url("old"))]) == {page_key(a_url("old")): key}


def test_a_second_time_changes_nothing(store: Store, project: ProjectStore, tree: Path) -> None:
    take(store, project, tree)
    before = rows(store, project)

    again = take(store, project, tree)

    assert rows(store, project) == before
    assert again == Import(pages_held=3)


def test_a_dry_run_says_the_same_and_writes_nothing(store: Store, project: ProjectStore, tree: Path) -> None:
    would = take(store, project, tree, dry_run=True)
    assert not any(rows(store, project).values())

    assert take(store, project, tree) == would


class TestNewer:
    @pytest.mark.parametrize(
        ("hours", "title"), [pytest.param(1, "newer", id="newer-stays"), pytest.param(-1, "Page 0", id="older-goes")]
    )
    def test_page(self, store: Store, project: ProjectStore, tree: Path, hours: int, title: str) -> None:
        document, *others = a_page(0, at=NOON + timedelta(hours=hours))
        assert isinstance(document, DocumentRecord)
        project.write([replace(document, title="newer"), *others])

        take(store, project, tree)

        page = project.page(page_key(a_url(0)))
        assert page is not None
        assert page.document is not None
        assert page.document.title == title

    def test_what_was_found_missing_since_stays(self, store: Store, project: ProjectStore, tree: Path) -> None:
        document, *others = a_page(0)
        assert isinstance(document, DocumentRecord)
        project.write([replace(document, gone_at=NOON + timedelta(days=1)), *others])

        take(store, project, tree)

        assert project.page_states([page_key(a_url(0))])[page_key(a_url(0))].gone_at == NOON + timedelta(days=1)

    def test_page_that_a_crawl_has_in_work_stays(self, store: Store, project: ProjectStore, tree: Path) -> None:
        document = a_page(0, at=NOON - timedelta(days=1))[0]
        assert isinstance(document, DocumentRecord)
        project.write([replace(document, status="processing")])

        assert take(store, project, tree).pages == 2

    def test_url_stays(self, store: Store, project: ProjectStore, tree: Path) -> None:
        later = NOON + timedelta(hours=1)
        url = a_url("gone")
        project.write([CrawledUrlRecord(page_key(url), url, DOMAIN, "failed", later, http_status=500)])

        take(store, project, tree)

        page = project.page(page_key(url))
        assert page is not None
        assert page.crawled_url is not None
        assert page.crawled_url.http_status == 500

    def test_knowledge_and_counts_stay(self, store: Store, project: ProjectStore, tree: Path) -> None:
        """They were written just now, and the export before."""
        project.write(a_domain())

        take(store, project, tree)

        assert project.validator_counts(DOMAIN).sent == 30

    def test_invalidated_extractions_come_back(self, store: Store, project: ProjectStore, tree: Path) -> None:
        take(store, project, tree)
        project.delete_extractions(ExtractionChoice(), dry_run=False)

        done = take(store, project, tree)

        assert (done.pages, done.extractions, done.pages_held) == (0, 5, 3)
        assert len(list(project.iterate_extractions())) == 5


class TestIndex:
    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda path: path.unlink(), id="missing"),
            pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-2]), id="without-its-end"),
            pytest.param(lambda path: path.write_bytes(path.read_bytes()[:300]), id="cut-in-a-record"),
            pytest.param(lambda path: path.write_bytes(b""), id="empty"),
            pytest.param(lambda path: path.write_bytes(b"\xff\xfe{"), id="no-text"),
            pytest.param(lambda path: path.write_bytes(b"[]"), id="a-list"),
            pytest.param(lambda path: path.write_bytes(b"[" * 100_000), id="deep"),
            pytest.param(lambda path: path.write_bytes(b'{"https://a.example/": 7}'), id="no-record"),
            pytest.param(lambda path: path.write_bytes(b'{\n"https://a.example/": 7\n}\n'), id="no-record-in-lines"),
        ],
    )
    def test_is_made_anew_from_the_files(
        self, store: Store, project: ProjectStore, tree: Path, damage: Callable[[Path], object]
    ) -> None:
        damage(tree / "content_index.json")

        done = take(store, project, tree)

        assert done.pages == 3
        assert done.index_rebuilt is not None
        assert done.index_rebuilt.startswith("content_index.json is ")

    def test_may_be_written_anew_in_another_form(self, store: Store, project: ProjectStore, tree: Path) -> None:
        index = json.loads((tree / "content_index.json").read_text())
        (tree / "content_index.json").write_text(json.dumps(index, indent=4))

        assert take(store, project, tree) == Import(pages=3, extractions=5, urls=2, domains=1)

    def test_says_what_is_taken(self, store: Store, project: ProjectStore, tree: Path) -> None:
        index = json.loads((tree / "content_index.json").read_text())
        del index[a_url(1)]
        (tree / "content_index.json").write_text(json.dumps(index))

        done = take(store, project, tree)

        assert (done.pages, done.files_left, done.problems) == (2, 1, [])

    def test_entries_whose_files_are_missing_are_dropped(self, store: Store, project: ProjectStore, tree: Path) -> None:
        file_of(tree, 1).unlink()

        done = take(store, project, tree)

        assert seen(store, project) == {a_url(0), a_url(2)}
        assert done.problems_by_kind == {"missing": 1}
        assert done.problems[0].url == a_url(1)

    def test_all_files_may_be_missing(self, store: Store, project: ProjectStore, tree: Path) -> None:
        for path in (tree / "extractions").iterdir():
            path.unlink()
        (tree / "extractions").rmdir()

        assert take(store, project, tree).problems_by_kind == {"missing": 3}

    @pytest.mark.parametrize("name", ["/etc/passwd", "extractions/../knowledge.jsonl", "extractions/x.json", ""])
    def test_leads_nowhere_else(self, store: Store, project: ProjectStore, tree: Path, name: str) -> None:
        entry = {a_url(7): {"content_hash": "", "extraction_file": name}}
        (tree / "content_index.json").write_text(json.dumps(entry))

        done = take(store, project, tree)

        assert (done.pages, done.problems_by_kind) == (0, {"unreadable": 1})


class TestTwoUrlsOnOneFile:
    @pytest.mark.parametrize("rebuilt", [False, True])
    def test_the_url_inside_decides(self, store: Store, project: ProjectStore, tree: Path, *, rebuilt: bool) -> None:
        """Page 1's file was overwritten with page 2's, and the index names it for both."""
        forced = file_of(tree, 1)
        forced.write_bytes(file_of(tree, 2).read_bytes())
        file_of(tree, 2).unlink()
        index = json.loads((tree / "content_index.json").read_text())
        index[a_url(2)]["extraction_file"] = index[a_url(1)]["extraction_file"]
        (tree / "content_index.json").write_text("" if rebuilt else json.dumps(index))

        done = take(store, project, tree)

        assert seen(store, project) == {a_url(0), a_url(2)}
        assert done.pages == 2
        if not rebuilt:
            assert [(one.url, one.reason) for one in done.problems] == [
                (a_url(1), f"holds the page {a_url(2)}: the entry is dropped")
            ]

    def test_of_two_files_with_one_url_the_newer_counts(self, store: Store, project: ProjectStore, tree: Path) -> None:
        (tree / "content_index.json").unlink()

        def newer(held: dict[str, Any]) -> None:
            held["document"] |= {"title": "newer", "last_seen_at": "2026-04-01T00:00:00+00:00"}

        copy = tree / "extractions" / "0123456789ab_2.json"
        copy.write_bytes(file_of(tree, 1).read_bytes())
        edit(copy, newer)

        take(store, project, tree)

        page = project.page(page_key(a_url(1)))
        assert page is not None
        assert page.document is not None
        assert page.document.title == "newer"


def test_a_flipped_byte_never_gets_in(tree: Path, tmp_path: Path) -> None:
    """Each byte in some steps: either the file says the same, or its page is done again and that is told."""
    path = file_of(tree, 1)
    whole = path.read_bytes()
    with Store.open("sqlite://") as reference:
        take(reference, reference.project("shop"), tree)
        expected = rows(reference, reference.project("shop"))

    for place in range(0, len(whole), 41):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with Store.open("sqlite://") as store:
            project = store.project("shop")
            done = take(store, project, tree)
            if done.problems_by_kind:
                assert done.problems[0].url == a_url(1)
                assert seen(store, project) == {a_url(0), a_url(2)}
            else:
                assert rows(store, project) == expected


def test_altered_content_is_told_and_its_page_done_again(store: Store, project: ProjectStore, tree: Path) -> None:
    file_of(tree, 1).write_bytes(file_of(tree, 1).read_bytes().replace(b"What it says", b"What it saya"))

    done = take(store, project, tree)

    key = page_key(a_url(1))
    assert done.problems_by_kind == {"altered": 1}
    assert "its page is done again" in done.problems[0].reason
    assert project.page_states([key]) == {}
    assert project.extractions_of(key) == []
    # Pages that link to it need not be extracted anew.
    assert key in project.document_keys([key])


def test_content_that_is_sealed_anew_must_fit_its_hash(store: Store, project: ProjectStore, tree: Path) -> None:
    edit(file_of(tree, 1), lambda held: held["content"].append("more"))

    assert "content_hash" in take(store, project, tree).problems[0].reason


def test_a_hash_in_the_index_that_is_another_is_told(store: Store, project: ProjectStore, tree: Path) -> None:
    index = (tree / "content_index.json").read_text()
    hashed = json.loads(index)[a_url(1)]["content_hash"]
    (tree / "content_index.json").write_text(index.replace(hashed, "00" * 32))

    assert take(store, project, tree).problems_by_kind == {"altered": 1}
    assert seen(store, project) == {a_url(0), a_url(2)}


def set_in(*path: str, to: Any) -> Edit:
    def change(held: dict[str, Any]) -> None:
        for name in path[:-1]:
            held = held[name]
        held[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(set_in("format", to=2), id="format"),
        pytest.param(set_in("url", to="javascript:alert(1)"), id="no-page"),
        pytest.param(set_in("url", to=7), id="url-type"),
        pytest.param(set_in("url", to="https://other.example/"), id="other-url"),
        pytest.param(set_in("content", to="text"), id="content-type"),
        pytest.param(set_in("content", to=[1]), id="line-type"),
        pytest.param(set_in("document", to=None), id="no-document"),
        pytest.param(set_in("document", to=[]), id="document-type"),
        pytest.param(set_in("document", "updated_at", to="yesterday"), id="time"),
        pytest.param(set_in("document", "updated_at", to="2026-01-01T00:00:00"), id="time-without-zone"),
        pytest.param(set_in("document", "last_seen_at", to=None), id="never-seen"),
        pytest.param(set_in("document", "title", to=["x"]), id="title-type"),
        pytest.param(set_in("document", "blocks", to="AAAA"), id="blocks-cut"),
        pytest.param(set_in("document", "links_hash", to="%%%"), id="no-base64"),
        pytest.param(set_in("document", "visits_count", to=10**30), id="huge-number"),
        pytest.param(set_in("document", "visits_count", to=True), id="truth-for-a-number"),
        pytest.param(set_in("document", "interval_seconds", to=float("nan")), id="no-number"),
        pytest.param(set_in("document", "verdict", to="x" * 17), id="too-long-for-its-column"),
        pytest.param(set_in("source", "field", to="video"), id="unknown-field"),
        pytest.param(set_in("source", "content", to=None), id="no-original"),
        pytest.param(set_in("memo", to=7), id="memo-type"),
        pytest.param(set_in("memo", "key", to="AAAA"), id="short-key"),
        pytest.param(set_in("memo", "content_hash", to="xyz"), id="no-hexadecimal"),
        pytest.param(set_in("requests", to=[7]), id="request-type"),
        pytest.param(set_in("requests", to=[["parse", None, 7]]), id="request-url-type"),
        pytest.param(set_in("requests", to=[{"request": {"$": "evil", "v": 1}}]), id="unknown-tag"),
        pytest.param(set_in("items", to=[{"class": "dict"}]), id="no-fields"),
        pytest.param(set_in("items", to=[{"class": "dict", "fields": {"$": "bytes", "v": 7}}]), id="damaged-value"),
        pytest.param(set_in("cb_kwargs", to=[]), id="arguments-type"),
        pytest.param(set_in("other_extractions", to=None), id="others-type"),
        pytest.param(set_in("other_extractions", to=[7]), id="other-type"),
        pytest.param(set_in("decisions", to=[{"layer": "x" * 33}]), id="layer-too-long"),
        pytest.param(set_in("http_status", to="200"), id="status-type"),
    ],
)
def test_a_file_with_a_wrong_value_is_told_and_left_out(
    store: Store, project: ProjectStore, tree: Path, change: Edit
) -> None:
    edit(file_of(tree, 1), change)

    done = take(store, project, tree)

    assert (done.pages, done.problems_by_kind.total()) == (2, 1)
    assert done.problems[0].where == extraction_file(url_hash(a_url(1)))
    assert a_url(1) not in seen(store, project)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff", id="no-text"),
        pytest.param(b"[]", id="a-list"),
        pytest.param(b"[" * 200_000, id="deep"),
        pytest.param(b'{"a":' * 100_000, id="deep-objects"),
        pytest.param(b"1" * 5_000, id="endless-number"),
        pytest.param(b'{"format": 1}', id="nothing-else"),
    ],
)
def test_a_file_that_is_no_file_of_ours_is_told(
    store: Store, project: ProjectStore, tree: Path, content: bytes
) -> None:
    file_of(tree, 1).write_bytes(content)

    done = take(store, project, tree)

    assert (done.pages, done.problems_by_kind.total()) == (2, 1)


def test_a_huge_file_is_not_read(
    store: Store, project: ProjectStore, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with file_of(tree, 1).open("r+b") as opened:
        opened.truncate(200_000_000)  # sparse: it takes no room

    assert take(store, project, tree).problems[0].reason == "is larger than 100,000,000 bytes; its page is done again"


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="no links that can be told")
class TestLinks:
    def test_to_a_file_is_not_followed(self, store: Store, project: ProjectStore, tree: Path) -> None:
        outside = tree.parent / "outside.json"
        file_of(tree, 1).rename(outside)
        file_of(tree, 1).symlink_to(outside)

        assert take(store, project, tree).problems[0].reason == "is a link; its page is done again"

    def test_to_a_folder_is_not_followed(self, store: Store, project: ProjectStore, tree: Path) -> None:
        (tree / "extractions").rename(tree.parent / "elsewhere")
        (tree / "extractions").symlink_to(tree.parent / "elsewhere")

        with pytest.raises(NoCacheError, match="is a link"):
            take(store, project, tree)

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
    def test_nor_is_waited_for_what_is_no_file(
        self, store: Store, project: ProjectStore, tree: Path, make: Callable[[Path], None]
    ) -> None:
        file_of(tree, 1).unlink()
        make(file_of(tree, 1))

        assert take(store, project, tree).problems_by_kind == {"unreadable": 1}


def test_a_folder_without_a_cache_is_refused(store: Store, project: ProjectStore, tmp_path: Path) -> None:
    with pytest.raises(NoCacheError, match="name the folder that `scrapy dedup cache export` wrote"):
        take(store, project, tmp_path)


class TestKnowledge:
    def test_missing_is_told_and_pages_are_taken(self, store: Store, project: ProjectStore, tree: Path) -> None:
        (tree / "knowledge.jsonl").unlink()

        done = take(store, project, tree)

        assert (done.pages, done.domains, done.problems_by_kind) == (3, 0, {"fact": 1})
        key = page_key(a_url(1))
        assert project.page_states([key])[key].http_status == 200

    def test_a_damaged_line_is_told_and_the_others_count(self, store: Store, project: ProjectStore, tree: Path) -> None:
        path = tree / "knowledge.jsonl"
        wrong = ["{", "7", '{"url": 7}', '{"url": {}, "a": 1}', '{"evil": {}}', '{"boilerplate": {"domain": "a"}}']
        stolen = {
            "url": {"page_key": "AAAAAAAAAAAAAAAAAAAAAA==", "url": a_url(9), "domain": DOMAIN, "status": "crawled"}
        }
        stolen["url"]["last_crawled_at"] = "2026-03-01T12:00:00+00:00"
        path.write_text(path.read_text() + "\n".join([*wrong, json.dumps(stolen)]) + "\n")

        done = take(store, project, tree)

        assert (done.pages, done.domains, done.problems_by_kind) == (3, 1, {"fact": 7})
        assert all(one.where.startswith("knowledge.jsonl, line ") for one in done.problems)

    def test_of_a_newer_version_is_left_alone(self, store: Store, project: ProjectStore, tree: Path) -> None:
        path = tree / "knowledge.jsonl"
        path.write_text(path.read_text().replace('"format": 1', '"format": 2', 1))

        assert "this version reads format 1" in take(store, project, tree).problems[0].reason


def test_pages_with_other_keys_under_todays_settings_are_done_again(
    store: Store, project: ProjectStore, tmp_path: Path
) -> None:
    with Store.open("sqlite://") as before:
        same = before.project("shop")
        same.write([*a_page(1, url=a_url("dir/")), *a_page(2)])
        export_cache(before, same, tmp_path)

    done = take(store, project, tmp_path, url_trailing_slash=True)

    assert seen(store, project) == {a_url(2)}
    assert "other DEDUP_URL_ settings" in done.problems[-1].reason
