import json
import os
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service import cache_files
from scrapy_dedup.service.cache_export import Export, ExportError, export_cache
from scrapy_dedup.service.cache_import import import_cache
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import DecisionRecord, DocumentRecord, VisitRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.cached import a_page, an_extraction, fill, text_of
from tests.service.stored_pages import NOON, a_url


def stem(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:12]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def names_of(*urls: str) -> set[str]:
    of_pages = {f"extractions/{stem(url)}.json" for url in urls} | {f"metadata/{stem(url)}_meta.json" for url in urls}
    return of_pages | {"content_index.json", "knowledge.jsonl"}


class TestTree:
    @pytest.fixture
    def tree(self, store: Store, project: ProjectStore, tmp_path: Path) -> Path:
        fill(project)
        export_cache(store, project, tmp_path / "deep" / "export")
        return tmp_path / "deep" / "export"

    def test_has_two_files_for_each_page_named_by_its_url(self, tree: Path) -> None:
        assert files(tree) == names_of(*(a_url(name) for name in range(3)))

    def test_index_says_of_each_url_where_its_files_are(self, tree: Path) -> None:
        index = read(tree / "content_index.json")

        assert index.keys() == {a_url(name) for name in range(3)}
        assert index[a_url(1)] == {
            "content_hash": sha256(" ".join(text_of(1).split()).encode()).hexdigest(),
            "last_extracted": "2026-03-01T12:00:00+00:00",
            "extraction_file": f"extractions/{stem(a_url(1))}.json",
            "metadata_file": f"metadata/{stem(a_url(1))}_meta.json",
            "url_hash": stem(a_url(1)),
        }

    def test_metadata_say_what_became_of_the_page(self, tree: Path) -> None:
        assert read(tree / "metadata" / f"{stem(a_url(1))}_meta.json") == {
            "url": a_url(1),
            "title": "Page 1",
            "depth": 3,
            "included": True,
            "decision_explanation": "page 1 is new",
            "crawl_timestamp": "2026-03-01T12:00:00+00:00",
        }

    def test_extraction_has_the_lines_of_the_content_and_all_that_was_made_of_it(self, tree: Path) -> None:
        held = read(tree / "extractions" / f"{stem(a_url(0))}.json")
        made = an_extraction(a_url(0), text_of(0))

        assert "\n".join(held["content"]) == text_of(0)
        assert held["content_hash"] == content_hash(text_of(0)).hex()
        assert (held["url"], held["callback"], held["cb_kwargs"]) == (a_url(0), "parse", {})
        assert (held["items"], held["requests"], held["dedup_version"]) == (made.items, made.requests, None)
        assert held["validators"]["etag"] == '"x"'
        assert [one["callback"] for one in held["other_extractions"]] == ["other", "parse"]
        assert held["other_extractions"][1]["items"] is None

    def test_is_the_same_again(self, tree: Path, store: Store, project: ProjectStore) -> None:
        before = {name: (tree / name).read_bytes() for name in files(tree)}

        again = export_cache(store, project, tree)

        assert {name: (tree / name).read_bytes() for name in files(tree)} == before
        assert again == Export(tree, pages=3, files_written=0, files_removed=0, pages_left_out=0, left_out=())


class TestDecision:
    def explained(self, store: Store, project: ProjectStore, folder: Path) -> tuple[Any, Any]:
        export_cache(store, project, folder)
        metadata = read(folder / "metadata" / f"{stem(a_url(1))}_meta.json")
        return metadata["included"], metadata["decision_explanation"]

    def test_is_the_reason_of_the_last_verdict(self, store: Store, project: ProjectStore, tmp_path: Path) -> None:
        later = NOON + timedelta(days=1)
        project.write(a_page(1))
        project.write([VisitRecord(page_key(a_url(1)), later, "304", "unchanged", "not modified")])
        project.write([VisitRecord(page_key(a_url(1)), later + timedelta(1), "get", None, "no answer")])

        assert self.explained(store, project, tmp_path) == (True, "not modified")

    def test_is_that_of_a_layer_where_no_visit_is_kept(
        self, store: Store, project: ProjectStore, tmp_path: Path
    ) -> None:
        project.write(record for record in a_page(1) if not isinstance(record, VisitRecord))

        assert self.explained(store, project, tmp_path) == (True, "2 blocks")

    def test_pages_that_are_gone_are_not_included(self, store: Store, project: ProjectStore, tmp_path: Path) -> None:
        document, *others = a_page(1)
        assert isinstance(document, DocumentRecord)
        project.write([replace(document, gone_at=NOON), *others])

        assert self.explained(store, project, tmp_path)[0] is False

    def test_pages_that_were_left_out_are_not_included(
        self, store: Store, project: ProjectStore, tmp_path: Path
    ) -> None:
        project.write(a_page(1))
        project.write([DecisionRecord(page_key(a_url(1)), "content_index", "excluded", "a login page", NOON)])

        assert self.explained(store, project, tmp_path) == (False, "a login page")


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
def test_nothing_of_a_url_gets_into_a_path(store: Store, project: ProjectStore, tmp_path: Path, url: str) -> None:
    project.write(a_page(1, url=url))

    export_cache(store, project, tmp_path / "x")

    assert files(tmp_path) == {f"x/{name}" for name in names_of(url)}
    assert list(read(tmp_path / "x" / "content_index.json")) == [url]


def test_urls_that_share_a_name_are_counted(store: Store, project: ProjectStore, tmp_path: Path) -> None:
    """One digit in place of twelve: sixteen names for forty pages."""
    fill(project, 40)

    export_cache(store, project, tmp_path / "x", name_digits=1)

    index = read(tmp_path / "x" / "content_index.json")
    for url, record in index.items():
        assert read(tmp_path / "x" / record["extraction_file"])["url"] == url
        assert read(tmp_path / "x" / record["metadata_file"])["url"] == url
    assert len({record["extraction_file"] for record in index.values()}) == 40
    assert any(record["extraction_file"].endswith("_2.json") for record in index.values())
    with Store.open("sqlite://") as other:
        assert import_cache(other, other.project("shop"), tmp_path / "x", Settings(), dry_run=False).pages == 40


def test_a_page_that_was_begun_again_goes_out_as_it_was_last_acknowledged(
    store: Store, project: ProjectStore, tmp_path: Path
) -> None:
    from tests.store.builders import a_document

    project.write(a_page(1))
    key = page_key(a_url(1))
    project.write([a_document(1, page_key=key, url=a_url(1), status="processing", updated_at=NOON + timedelta(1))])

    export_cache(store, project, tmp_path / "x")

    document = read(tmp_path / "x" / "extractions" / f"{stem(a_url(1))}.json")["document"]
    assert (document["status"], document["updated_at"]) == ("completed", "2026-03-01T12:00:00+00:00")


class TestOverAnOlderExport:
    @pytest.fixture
    def older(self, project: ProjectStore, tmp_path: Path) -> Path:
        """Pages 0 to 2; since then page 2 is away, and page 3 new."""
        with Store.open("sqlite://") as before:
            same = before.project("shop")
            fill(same, 3)
            export_cache(before, same, tmp_path)
        project.write([record for name in (0, 1, 3) for record in a_page(name)])
        return tmp_path

    def test_what_the_project_no_longer_has_is_removed(self, store: Store, project: ProjectStore, older: Path) -> None:
        done = export_cache(store, project, older)

        assert files(older) == names_of(*(a_url(name) for name in (0, 1, 3)))
        assert done.files_removed == 2

    def test_what_the_index_does_not_name_stays(self, store: Store, project: ProjectStore, older: Path) -> None:
        mine = {"extractions/0123456789ab.json", "extractions/notes.txt", "README"}
        for name in mine:
            (older / name).write_text("mine")

        export_cache(store, project, older)

        assert mine < files(older)

    def test_nothing_is_removed_by_an_index_that_leads_elsewhere(
        self, store: Store, project: ProjectStore, older: Path
    ) -> None:
        outside = older.parent / "outside.json"
        outside.write_text("mine")
        index = read(older / "content_index.json")
        for record in index.values():
            record["extraction_file"] = "extractions/../../outside.json"
        (older / "content_index.json").write_text(json.dumps(index))

        export_cache(store, project, older)

        assert outside.exists()

    def test_a_killed_export_leaves_files_that_are_whole(
        self, store: Store, project: ProjectStore, older: Path
    ) -> None:
        """Stopped at each page in turn: whatever is there can be read, and the next export ends it."""
        for stopped_at in range(1, 4):
            pages = iter(range(10))

            def stop(_pages: int, pages: Any = pages, at: int = stopped_at) -> None:
                if next(pages) + 1 == at:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                export_cache(store, project, older, stop)
            for name in files(older) - {"knowledge.jsonl"}:
                read(older / name)

        export_cache(store, project, older)
        assert files(older) == names_of(*(a_url(name) for name in (0, 1, 3)))


def test_a_killed_first_export_is_gone_on_with(store: Store, project: ProjectStore, tmp_path: Path) -> None:
    fill(project)

    def stop(_pages: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_cache(store, project, tmp_path, stop)

    assert export_cache(store, project, tmp_path).pages == 3


class TestRefusal:
    def refused(self, store: Store, project: ProjectStore, folder: Path) -> str:
        before = files(folder.parent)
        with pytest.raises(ExportError) as refusal:
            export_cache(store, project, folder)
        assert files(folder.parent) == before
        assert "name an empty folder" in str(refusal.value) or "name another folder" in str(refusal.value)
        return str(refusal.value)

    def test_of_a_folder_with_other_things(self, store: Store, project: ProjectStore, tmp_path: Path) -> None:
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "thesis.txt").write_text("mine")

        assert "is not empty and holds no content_index.json" in self.refused(store, project, tmp_path / "x")

    def test_of_a_file(self, store: Store, project: ProjectStore, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("mine")

        assert "is a file" in self.refused(store, project, tmp_path / "x")

    def test_of_the_export_of_another_project(self, store: Store, project: ProjectStore, tmp_path: Path) -> None:
        fill(store.project("blog"))
        export_cache(store, store.project("blog"), tmp_path / "x")

        assert "project 'blog', not of 'shop'" in self.refused(store, project, tmp_path / "x")

    @pytest.mark.parametrize(
        "index", ['{"https://a.example/": {"content_hash": "", "extraction_file": "x"}}', "{", "[]"]
    )
    def test_of_the_index_of_another_program(
        self, store: Store, project: ProjectStore, tmp_path: Path, index: str
    ) -> None:
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "content_index.json").write_text(index)

        assert "not known whose it is" in self.refused(store, project, tmp_path / "x")

    @pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="no links that can be told")
    def test_of_a_link_that_leads_elsewhere(self, store: Store, project: ProjectStore, tmp_path: Path) -> None:
        fill(project)
        export_cache(store, project, tmp_path / "x")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "x" / "metadata").rename(tmp_path / "old")
        (tmp_path / "x" / "metadata").symlink_to(tmp_path / "elsewhere")

        assert "is a link" in self.refused(store, project, tmp_path / "x")


def test_a_page_whose_file_could_not_be_read_again_is_left_out(
    store: Store, project: ProjectStore, tmp_path: Path
) -> None:
    project.write([*a_page(1), *a_page(2, text="long " * 1_000)])

    done = export_cache(store, project, tmp_path / "x", most_bytes=3_000)

    assert (done.pages, done.pages_left_out, done.left_out[0].url) == (1, 1, a_url(2))
    assert cache_files.INDEX in files(tmp_path / "x")
    assert list(read(tmp_path / "x" / "content_index.json")) == [a_url(1)]


def test_memory_does_not_grow_with_the_pages(store: Store, project: ProjectStore, tmp_path: Path) -> None:
    """60 pages of 100 kB are 6 MB."""
    import tracemalloc

    for name in range(60):
        project.write(a_page(name, text=f"{name} words\n" + "more " * 20_000))

    tracemalloc.start()
    export_cache(store, project, tmp_path / "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4_000_000
