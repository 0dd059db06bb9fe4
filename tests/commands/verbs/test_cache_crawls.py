"""What an exported cache is for: the crawl after the store was lost."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands.running import Outcome, scrapy
from tests.end_to_end.crawling import ADDON, ROOT, Project
from tests.server import WebServer, serving
from tests.sites import interleaved, pages_of

pytestmark = pytest.mark.crawl


@pytest.fixture
def server() -> Iterator[WebServer]:
    """Two domains, one of them too small to be learned."""
    with serving(2, lambda origins: interleaved(origins, (3, 12))) as running:
        yield running


def cache(project: Project, *arguments: str) -> Outcome:
    return scrapy("dedup", "cache", *arguments, folder=project.folder, PYTHONPATH=str(ROOT))


def crawl(project: Project, server: WebServer) -> list[str]:
    """Return the items that callbacks yielded."""
    return project.crawl("pages", "-a", f"start={server.origins[0]}/hub").yielded


def file_of(folder: Path, url: str) -> Path:
    index = json.loads((folder / "content_index.json").read_text())
    return folder / str(index[url]["extraction_file"])


def flip(folder: Path, url: str) -> None:
    path = file_of(folder, url)
    content = bytearray(path.read_bytes())
    content[content.index(b"On http")] ^= 1
    path.write_bytes(content)


def put_on_one_name(folder: Path, url: str) -> None:
    """Let the index name another page's file for a URL."""
    text = (folder / "content_index.json").read_text()
    index = json.loads(text)
    other = next(record for page, record in index.items() if page != url)
    (folder / "content_index.json").write_text(text.replace(index[url]["extraction_file"], other["extraction_file"]))


def cut_index(folder: Path, _url: str) -> None:
    path = folder / "content_index.json"
    path.write_bytes(path.read_bytes()[:200])


@pytest.mark.parametrize(
    ("happened", "comes_again"),
    [
        pytest.param(lambda _folder, _url: None, False, id="nothing"),
        pytest.param(lambda folder, _url: (folder / "content_index.json").unlink(), False, id="index-deleted"),
        pytest.param(cut_index, False, id="index-truncated"),
        pytest.param(lambda folder, url: file_of(folder, url).unlink(), True, id="file-deleted"),
        pytest.param(flip, True, id="byte-flipped"),
        pytest.param(put_on_one_name, True, id="two-urls-on-one-name"),
    ],
)
def test_after_export_and_import_only_what_was_damaged_is_extracted(
    project: Project, server: WebServer, happened: Callable[[Path, str], None], *, comes_again: bool
) -> None:
    url = f"{server.origins[1]}/p3"
    assert set(crawl(project, server)) == pages_of(server.site)
    assert cache(project, "export", "tree").code == 0
    shutil.rmtree(project.folder / ".scrapy")
    happened(project.folder / "tree", url)

    assert cache(project, "import", "tree").code == 0

    assert crawl(project, server) == ([url] if comes_again else [])


def test_an_invalidated_page_is_extracted_anew_and_what_a_crawl_left_is_sound(
    project: Project, server: WebServer
) -> None:
    url = f"{server.origins[1]}/p3"
    crawl(project, server)
    assert cache(project, "verify", "--json").json["damaged"] == {}

    assert cache(project, "invalidate", url, "--json").json["extractions"] == 1

    assert crawl(project, server) == [url]
    stats = cache(project, "stats", "--json").json["total"]
    assert (stats["misses"], stats["hits"]) == (1, 15)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", dict(ADDON))
