import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cache.content_index import (
    CacheTreeError,
    ContentIndexError,
    ContentIndexManager,
    Transfer,
    export_cache,
    import_cache,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import DecisionRecord, DocumentRecord, SourceRecord
from scrapy_dedup.store.repositories import ProjectRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.cached import a_page, an_extraction, fill, rows, text_of
from tests.service.stored_pages import NOON, a_url
from tests.tables import table

TEXT = "What the page says.\nIn two lines."
FOUND = {"url": a_url(1), "content": ["one", "two"], "price": Decimal("9.90"), "at": NOON}


@pytest.fixture
def index(project) -> ContentIndexManager:
    return ContentIndexManager(project)


@pytest.fixture
def saved(index) -> ContentIndexManager:
    """An index with one URL."""
    index.update_url_record(a_url(1), index.calculate_content_hash(TEXT), FOUND, {"title": "One", "depth": 2})
    index.save_index()
    return index


def again(project: ProjectStore) -> ContentIndexManager:
    return ContentIndexManager(project)


class TestHash:
    def test_is_the_sha256_of_the_normalised_content(self, index):
        expected = sha256(b"What the page says. In two lines.").hexdigest()

        assert index.calculate_content_hash(f"  {TEXT}\t\n") == expected

    def test_may_be_of_any_text(self, index):
        assert len(index.calculate_content_hash("lone \ud800 surrogate \0")) == 64


class TestFlow:
    """As the seed draws it: the expensive call is made for new and for changed content only."""

    @pytest.mark.parametrize("saving", [True, False], ids=["saved", "not-yet-saved"])
    def test_a_second_crawl_pays_for_what_changed(self, project, *, saving):
        paid: list[str] = []
        index = ContentIndexManager(project)

        def crawl(pages: dict[str, str]) -> dict[str, Any]:
            found = {}
            for url, cleaned in pages.items():
                new_hash = index.calculate_content_hash(cleaned)
                if index.is_content_changed(url, new_hash):
                    paid.append(url)
                    index.update_url_record(url, new_hash, {"words": len(cleaned.split())}, {"title": url})
                found[url] = index.get_cached_extraction(url)
            if saving:
                index.save_index()
                index.load_index()
            return found

        first = crawl({a_url(1): "a b", a_url(2): "a b c"})
        second = crawl({a_url(1): "a  b", a_url(2): "a b d e", a_url(3): "x"})

        assert first == {a_url(1): {"words": 2}, a_url(2): {"words": 3}}
        assert second == {a_url(1): {"words": 2}, a_url(2): {"words": 4}, a_url(3): {"words": 1}}
        assert paid == [a_url(1), a_url(2), a_url(2), a_url(3)]


class TestRecord:
    def test_has_the_seeds_keys(self, saved, project):
        record = again(project).get_url_record(a_url(1))

        name = sha256(a_url(1).encode()).hexdigest()[:12]
        assert datetime.fromisoformat(record["last_extracted"]) <= datetime.now(UTC)
        assert record == {
            "last_extracted": record["last_extracted"],
            "content_hash": saved.calculate_content_hash(TEXT),
            "extraction_file": f"extractions/{name}.json",
            "metadata_file": f"metadata/{name}_meta.json",
            "url_hash": name,
        }

    def test_is_found_by_every_spelling_of_the_url(self, saved):
        assert saved.get_url_record(f"{a_url(1)}?utm_source=x#top") is not None

    def test_there_is_none_of_a_url_that_was_never_met(self, index):
        assert index.get_url_record(a_url(9)) is None
        assert index.get_cached_extraction(a_url(9)) is None
        assert index.is_content_changed(a_url(9), "00" * 32)


class TestSaving:
    def test_is_one_transaction_for_all_updates(self, project):
        index = again(project)
        for name in range(3):
            index.update_url_record(a_url(name), index.calculate_content_hash(str(name)), {"n": name})

        assert list(again(project).load_index()) == []
        assert index.save_index() == 3
        assert len(list(again(project).load_index())) == 3
        assert index.save_index() == 0

    def test_that_fails_keeps_the_updates(self, index, store, project):
        index.update_url_record(a_url(1), index.calculate_content_hash(TEXT), {})
        with store.session() as session:
            ProjectRepository(session).delete(project.id)
            session.commit()

        with pytest.raises(StoreError, match="was deleted"):
            index.save_index()
        assert index.get_url_record(a_url(1)) is not None

    def test_loading_again_gives_up_what_was_not_saved(self, saved):
        saved.update_url_record(a_url(2), saved.calculate_content_hash("x"), {})

        loaded = dict(saved.load_index())

        assert loaded == {a_url(1): saved.get_url_record(a_url(1))}
        assert loaded[a_url(1)]["content_hash"] == saved.calculate_content_hash(TEXT)
        assert saved.get_url_record(a_url(2)) is None


class TestExtraction:
    @pytest.mark.usefixtures("saved")
    def test_comes_back_with_its_types(self, project):
        assert again(project).get_cached_extraction(a_url(1)) == FOUND

    def test_of_a_crawl_comes_with_lines_and_items(self, index, project):
        project.write(a_page(1))

        found = index.get_cached_extraction(a_url(1))

        assert "\n".join(found["content"]) == text_of(1)
        assert found["items"] == [{"url": a_url(1), "price": Decimal("9.90")}]
        assert (found["url"], found["extraction_timestamp"]) == (a_url(1), NOON.isoformat())

    def test_of_an_older_content_does_not_count(self, index, project):
        project.write(record for record in a_page(1) if type(record).__name__ != "ExtractionRecord")
        project.write([an_extraction(a_url(1), "older")])

        assert index.get_cached_extraction(a_url(1)) is None


class TestUpdate:
    @pytest.mark.usefixtures("saved")
    def test_is_a_page_that_a_crawl_takes_for_seen(self, project):
        key = page_key(a_url(1))

        state = project.page_states([key])[key]
        assert (state.status, state.title, state.depth, state.visits_count) == ("completed", "One", 2, 1)
        (extraction,) = project.extractions_of(key)
        assert (extraction.callback, extraction.requests) == ("", [{"unkeepable": "what the index does not know"}])
        assert extraction.memo_key in state.memo_keys
        assert key in project.document_keys([key])

    def test_of_a_crawled_page_with_the_same_content_leaves_its_state(self, index, project):
        project.write(a_page(1))
        key = page_key(a_url(1))
        before = project.page_states([key])[key]

        index.update_url_record(a_url(1), index.calculate_content_hash(text_of(1)), {"n": 1})
        index.save_index()

        after = project.page_states([key])[key]
        expected = {name: getattr(before, name) for name in ("last_seen_at", "memo_keys", "updated_at")}
        assert replace(after, status="completed", **expected) == before

    def test_of_a_crawled_page_with_other_content_forgets_what_belonged_to_the_old(self, index, project):
        project.write(a_page(1))
        key = page_key(a_url(1))

        index.update_url_record(a_url(1), index.calculate_content_hash("new"), {"n": 1})
        index.save_index()

        state = project.page_states([key])[key]
        assert (state.etag, state.blocks) == (None, None)
        assert (state.visits_count, state.changes_count, state.verdict) == (3, 2, "changed")
        assert state.first_seen_at == NOON - timedelta(days=1)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            pytest.param(("00", {}, {}), "64 hexadecimal digits", id="hash"),
            pytest.param(("x" * 64, {}, {}), "64 hexadecimal digits", id="digits"),
            pytest.param(("00" * 32, {"a": object()}, {}), "use plain values", id="value"),
            pytest.param(("00" * 32, {}, {"crawl_timestamp": "soon"}), "needs ISO 8601", id="time"),
        ],
    )
    def test_that_cannot_be_kept_is_refused(self, index, arguments, words):
        with pytest.raises(ContentIndexError, match=words):
            index.update_url_record(a_url(1), *arguments)
        assert index.get_url_record(a_url(1)) is None


def test_the_index_is_read_a_part_at_a_time(project):
    project.write([record for name in range(25) for record in a_page(name)])

    assert sorted(url for url, _ in again(project).load_index()) == sorted(a_url(name) for name in range(25))


INDEX = "content_index.json"

Edit = Callable[[dict[str, Any]], object]


def stem(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:12]


def file_of(folder: Path, name: object) -> Path:
    return folder / "extractions" / f"{stem(a_url(name))}.json"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def export(project: ProjectStore, folder: Path) -> Transfer:
    return export_cache(project, folder, lambda _pages: None)


def take(project: ProjectStore, tree: Path, *, dry_run: bool = False, **settings: Any) -> Transfer:
    return import_cache(project, tree, Settings(**settings), lambda _files: None, dry_run=dry_run)


def seen(store: Store, project: ProjectStore) -> set[str]:
    return {row["url"] for row in rows(store, project)["documents"]}


def edit(path: Path, change: Edit) -> None:
    """Change an extraction file as somebody would who knows how it is sealed."""
    held = read(path)
    held.pop("checksum")
    change(held)
    body = json.dumps(held, indent=1).encode().removesuffix(b"\n}")
    seal = sha256(body + b"\n}").hexdigest()
    path.write_bytes(body + f',\n "checksum": "{seal}"\n}}\n'.encode())


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.fixture
def tree(tmp_path) -> Path:
    """What was exported of a project with pages 0 to 2."""
    with Store.open("sqlite://") as store:
        project = store.project("shop")
        fill(project)
        project.write([DecisionRecord(page_key(a_url(1)), "content_index", "excluded", "a login page", NOON)])
        assert export(project, tmp_path / "deep" / "x") == Transfer(pages=3, extractions=5)
    return tmp_path / "deep" / "x"


class TestExport:
    def test_is_an_index_and_two_files_for_each_page(self, tree):
        index = read(tree / INDEX)
        names = {str(path.relative_to(tree)) for path in tree.rglob("*.json")}

        assert index.keys() == {a_url(name) for name in range(3)}
        assert index[a_url(1)] == {
            "content_hash": sha256(" ".join(text_of(1).split()).encode()).hexdigest(),
            "last_extracted": "2026-03-01T12:00:00+00:00",
            "extraction_file": f"extractions/{stem(a_url(1))}.json",
            "metadata_file": f"metadata/{stem(a_url(1))}_meta.json",
            "url_hash": stem(a_url(1)),
        }
        assert names == {INDEX} | {one[kind] for one in index.values() for kind in ("extraction_file", "metadata_file")}

    @pytest.mark.parametrize(
        "url",
        [
            "https://evil.example/../../../etc/passwd",
            "https://evil.example/%2e%2e/%00/..\\..\\x",
            'https://evil.example/"};{"\n\u202e<script>',
            "https://evil.example/" + "a" * 5_000,
        ],
        ids=["dots", "escapes", "quotes", "endless"],
    )
    def test_nothing_of_a_url_gets_into_a_path(self, project, tmp_path, url):
        project.write(a_page(1, url=url))

        export(project, tmp_path / "x")

        names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json")}
        assert names == {f"x/{INDEX}", f"x/extractions/{stem(url)}.json", f"x/metadata/{stem(url)}_meta.json"}
        assert list(read(tmp_path / "x" / INDEX)) == [url]

    def test_a_page_with_half_a_character_is_left_out(self, project, tmp_path):
        halved = (replace(one, content="\ud800") if isinstance(one, SourceRecord) else one for one in a_page(2))
        project.write([*a_page(1), *halved])

        done = export(project, tmp_path)

        assert (done.pages, done.pages_left_out) == (1, 1)
        assert done.problems == [f"{a_url(2)} is left out: holds half a character, which no JSON file can"]
        assert list(read(tmp_path / INDEX)) == [a_url(1)]

    @pytest.mark.parametrize("held", ["folder", "file", "older-export"])
    def test_over_something_else_is_refused(self, project, tmp_path, held):
        fill(project)
        folder = tmp_path / "x"
        if held == "folder":
            (folder / "mine").mkdir(parents=True)
        elif held == "file":
            folder.write_text("mine")
        else:
            export(project, folder)
        before = sorted(tmp_path.rglob("*"))

        with pytest.raises(CacheTreeError, match="is not empty: name an empty folder, or a new one"):
            export(project, folder)
        assert sorted(tmp_path.rglob("*")) == before


class TestImport:
    @pytest.mark.parametrize(
        ("changed", "pages", "title"),
        [
            pytest.param({"last_seen_at": NOON + timedelta(hours=1)}, 2, "here", id="newer-stays"),
            pytest.param({"last_seen_at": NOON - timedelta(hours=1)}, 3, "Page 0", id="older-goes"),
            pytest.param({"gone_at": NOON + timedelta(days=1)}, 2, "here", id="found-missing-since-stays"),
            pytest.param(
                {"status": "processing", "last_seen_at": NOON - timedelta(days=1)}, 2, "here", id="in-work-stays"
            ),
        ],
    )
    def test_leaves_what_the_store_knows_better(self, project, tree, changed, pages, title):
        document, *others = a_page(0)
        assert isinstance(document, DocumentRecord)
        project.write([replace(document, title="here", **changed), *others])

        assert take(project, tree).pages == pages

        page = project.page(page_key(a_url(0)))
        assert (page.document.title, page.document.status) == (title, changed.get("status", "completed"))


class TestIndex:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            pytest.param("/etc/passwd", "is no name of a file in extractions/", id="absolute"),
            pytest.param("extractions/../content_index.json", "is no name of a file in extractions/", id="outside"),
            pytest.param("", "is no name of a file in extractions/", id="none"),
            pytest.param("extractions/0123456789ab.json", "is missing", id="missing"),
            pytest.param(f"extractions/{stem(a_url(2))}.json", f"holds the page {a_url(2)}", id="of-another-page"),
        ],
    )
    def test_entries_that_lead_elsewhere_are_left_out(self, store, project, tree, name, words):
        index = (tree / INDEX).read_text()
        (tree / INDEX).write_text(index.replace(f"extractions/{stem(a_url(1))}.json", name))

        done = take(project, tree)

        assert seen(store, project) == {a_url(0), a_url(2)}
        assert done.problems == [f"{a_url(1)} ({name}) is left out: {words}; the page is done again"]


def test_a_flipped_byte_never_gets_in(store, project, tree):
    """Each byte in some steps: its page is done again, and that is told."""
    path = file_of(tree, 1)
    whole = path.read_bytes()

    for place in range(0, len(whole), 41):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        done = take(project, tree)
        (problem,) = done.problems
        assert problem.startswith(a_url(1))
        assert "is left out: was altered" in problem
        assert seen(store, project) == {a_url(0), a_url(2)}


@table("service/a_file_with_a_wrong_value_is_left_out")
def test_a_file_with_a_wrong_value_is_left_out(store, project, tree, path, value):
    def change(held: Any) -> None:
        *first, last = path
        for name in first:
            held = held[0] if name == "0" else held[name]
        held[last] = value

    edit(file_of(tree, 1), change)

    done = take(project, tree)

    assert seen(store, project) == {a_url(0), a_url(2)}
    assert (done.pages, done.pages_left_out, done.problems[0].startswith(a_url(1))) == (2, 1, True)


def grow(path: Path) -> None:
    with path.open("r+b") as opened:
        opened.truncate(200_000_000)  # sparse: it takes no room


def nest(path: Path, change: Callable[[Any], object] = lambda held: held.update(content=["@"])) -> None:
    """A bomb for whoever reads JSON by recursion, under a good seal."""
    edit(path, change)
    body = path.read_bytes().partition(b',\n "checksum"')[0].replace(b'"@"', b"[" * 200_000)
    seal = sha256(body + b"\n}").hexdigest()
    path.write_bytes(body + f',\n "checksum": "{seal}"\n}}\n'.encode())


def nest_a_request(path: Path) -> None:
    nest(path, lambda held: held["extractions"][0].update(requests=["@"]))


def link(path: Path) -> None:
    path.rename(path.parents[2] / "outside.json")
    path.symlink_to(path.parents[2] / "outside.json")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(lambda path: path.write_bytes(b""), "was altered", id="empty"),
        pytest.param(lambda path: path.write_bytes(b'{"\xf4": 1}'), "was altered", id="no-utf-8"),
        pytest.param(nest, "Expected `str`, got `array`", id="nested-without-end"),
        pytest.param(nest_a_request, "maximum recursion depth", id="nested-in-a-request"),
        pytest.param(grow, "is larger than 100,000,000 bytes", id="huge"),
        pytest.param(link, "is a link", id="link"),
        pytest.param(pipe, "is no file", id="pipe"),
        pytest.param(lambda path: (path.unlink(), path.mkdir()), "is no file", id="folder"),
        pytest.param(lambda path: path.unlink(), "is missing", id="missing"),
    ],
)
def test_a_file_that_is_none_of_ours_is_left_out(store, project, tree, damage, words):
    damage(file_of(tree, 1))

    done = take(project, tree)

    assert seen(store, project) == {a_url(0), a_url(2)}
    assert f"is left out: {words}" in done.problems[0]
    key = page_key(a_url(1))
    assert (project.page_states([key]), project.extractions_of(key)) == ({}, [])


@pytest.mark.parametrize(
    "index", ['{"a": {"extraction_file": "x", "more": ' + "[" * 200_000, ""], ids=["nested", "empty"]
)
def test_an_index_that_is_none_is_made_anew(store, project, tree, index):
    (tree / INDEX).write_text(index)

    assert take(project, tree).index_rebuilt == f"{INDEX} is damaged or truncated"
    assert seen(store, project) == {a_url(0), a_url(1), a_url(2)}


class TestTreeOfTheSpecification:
    """As it shows it: an index, a file of lines and one of metadata for each page, and no checksum."""

    HASH = sha256(b"<main>cleaned HTML").hexdigest()

    @pytest.fixture
    def plain(self, tmp_path) -> Path:
        index, url = {}, a_url(1)
        for kind in ("extractions", "metadata"):
            (tmp_path / kind).mkdir()
        index[url] = {
            "content_hash": self.HASH,
            "last_extracted": "2025-05-26T17:00:00Z",
            "extraction_file": "extractions/abc123def.json",
            "metadata_file": "metadata/abc123def_meta.json",
            "url_hash": "abc123def",
        }
        extraction = {"url": url, "content": ["line 1", "line 2"], "extraction_timestamp": "2025-05-26T17:00:00Z"}
        metadata = {
            "url": url,
            "title": "Page Title",
            "depth": 1,
            "included": False,
            "decision_explanation": "a login page",
            "crawl_timestamp": "2025-05-26T16:59:00Z",
        }
        (tmp_path / INDEX).write_text(json.dumps(index, indent=2))
        (tmp_path / "extractions" / "abc123def.json").write_text(json.dumps(extraction, indent=2))
        (tmp_path / "metadata" / "abc123def_meta.json").write_text(json.dumps(metadata, indent=2))
        return tmp_path

    def test_comes_in_and_answers_as_it_did(self, store, plain):
        project = store.project("shop")

        assert take(project, plain) == Transfer(pages=1, extractions=1)
        assert take(project, plain) == Transfer(pages_held=1, extractions=1)
        index = ContentIndexManager(project)
        assert not index.is_content_changed(a_url(1), self.HASH)
        assert index.is_content_changed(a_url(1), sha256(b"store").hexdigest())
        assert index.get_cached_extraction(a_url(1)) == read(plain / "extractions" / "abc123def.json")
        (row,) = rows(store, project)["documents"]
        told = (row["title"], row["depth"], row["last_seen_at"].isoformat())
        assert told == ("Page Title", 1, "2025-05-26T16:59:00+00:00")
        with_us = plain / "again"
        export(project, with_us)
        assert read(with_us / "metadata" / f"{stem(a_url(1))}_meta.json")["decision_explanation"] == "a login page"
        assert take(store.project("third"), with_us).pages == 1
