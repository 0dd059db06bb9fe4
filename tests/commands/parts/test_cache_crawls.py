"""What an exported cache is for: the crawl after the store was lost."""

import json
import shutil
from collections.abc import Iterator

import pytest

from tests.commands.running import Outcome, scrapy
from tests.end_to_end.crawling import ADDON, ROOT, Project
from tests.end_to_end.recrawl_site import copied
from tests.server import WebServer, serving
from tests.sites import interleaved, pages_of

pytestmark = pytest.mark.crawl


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    """Two domains, one of them too small to be learned."""
    with serving(2, lambda origins: interleaved(origins, (3, 12))) as running:
        yield running


def cache(project: Project, *arguments: str) -> Outcome:
    return scrapy("dedup", "store", "cache", *arguments, folder=project.folder, PYTHONPATH=str(ROOT))


def crawl(project: Project, server: WebServer) -> list[str]:
    start = f"start={server.origins[0]}/hub"
    return project.crawl("walker", "-a", start, DEDUP_REUSE="body", DEDUP_AUDIT=0).yielded


@pytest.fixture(scope="module")
def crawled(server, tmp_path_factory) -> Project:
    """A project that has crawled, with its exported cache beside it."""
    project = Project(tmp_path_factory.mktemp("crawled") / "project", dict(ADDON))
    assert set(crawl(project, server)) >= pages_of(server.site)
    assert cache(project, "export", "tree").code == 0
    return project


@pytest.fixture
def project(crawled, tmp_path) -> Project:
    return copied(crawled, tmp_path / "project")


def test_after_export_and_import_only_what_was_damaged_is_extracted(project, server):
    deleted, flipped, misled, other = (f"{server.origins[1]}/p{number}" for number in (3, 4, 5, 6))
    shutil.rmtree(project.folder / ".scrapy")
    tree = project.folder / "tree"
    text = (tree / "content_index.json").read_text()
    files = {url: record["extraction_file"] for url, record in json.loads(text).items()}
    (tree / files[deleted]).unlink()
    content = bytearray((tree / files[flipped]).read_bytes())
    content[content.index(b"On http")] ^= 1
    (tree / files[flipped]).write_bytes(content)
    # Two URLs on one name.
    (tree / "content_index.json").write_text(text.replace(files[misled], files[other]))

    assert cache(project, "import", "tree").code == 0

    assert sorted(crawl(project, server)) == [deleted, flipped, misled]


def test_without_a_whole_index_every_page_comes_back_and_one_invalidated_is_extracted_anew(project, server):
    assert cache(project, "verify", "--json").json["damaged"] == {}, "what a crawl left is sound"
    shutil.rmtree(project.folder / ".scrapy")
    index = project.folder / "tree" / "content_index.json"
    index.write_bytes(index.read_bytes()[:200])
    url = f"{server.origins[1]}/p3"

    assert cache(project, "import", "tree").code == 0
    assert cache(project, "invalidate", url, "--json").json["extractions"] == 1

    assert crawl(project, server) == [url]
    stats = cache(project, "stats", "--json").json["total"]
    assert (stats["misses"], stats["hits"]) == (1, 15)
