import io
import tarfile
import urllib.error
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser


@pytest.fixture
def demo_site() -> Any:
    return import_module("demo_site")


@pytest.fixture
def offline_site(tmp_path: Path) -> Path:
    import_module("offline_site.build").build(tmp_path, "http://127.0.0.1:8000")
    return tmp_path


def test_offline_site_links_only_to_its_own_files(offline_site: Path) -> None:
    pages = list(offline_site.rglob("*.html"))

    for page in pages:
        for link in LexborHTMLParser(page.read_text(encoding="utf-8")).css("a[href]"):
            address = (link.attributes["href"] or "").partition("?")[0]
            assert (offline_site / address.lstrip("/")).is_file(), (page, address)
    assert 24 <= len(pages) <= 30


def test_offline_site_is_small_and_the_same_each_time(
    offline_site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    again = tmp_path_factory.mktemp("again")
    import_module("offline_site.build").build(again, "http://127.0.0.1:8000")

    files = {file.relative_to(offline_site): file.read_bytes() for file in offline_site.rglob("*") if file.is_file()}
    assert files == {file.relative_to(again): file.read_bytes() for file in again.rglob("*") if file.is_file()}
    assert sum(map(len, files.values())) < 150_000


def test_server_answers_304_to_who_has_the_page(demo_site: Any, offline_site: Path) -> None:
    with demo_site.served(offline_site) as origin:
        with urllib.request.urlopen(f"{origin}/index.html") as first:
            etag, modified = first.headers["ETag"], first.headers["Last-Modified"]
            assert first.version == 11

        for name, value in (("If-None-Match", etag), ("If-Modified-Since", modified)):
            with pytest.raises(urllib.error.HTTPError) as not_modified:
                urllib.request.urlopen(urllib.request.Request(f"{origin}/index.html", headers={name: value}))
            assert not_modified.value.code == 304
            not_modified.value.close()


def test_server_lists_no_folders(demo_site: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    with demo_site.served(tmp_path) as origin, pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(f"{origin}/folder/")
    assert missing.value.code == 404
    missing.value.close()


def test_unpacking_stays_in_its_folder(demo_site: Any, tmp_path: Path) -> None:
    archive, target = tmp_path / "a.tar.gz", tmp_path / "inside" / "target"
    with tarfile.open(archive, "w:gz") as members:
        for name in ("p/doc/index.html", "p/doc/../../../escaped.html", "p/other/x.html"):
            member = tarfile.TarInfo(name)
            member.size = 2
            members.addfile(member, io.BytesIO(b"hi"))
        link = tarfile.TarInfo("p/doc/link.html")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        members.addfile(link)

    demo_site._unpack(archive, "doc", target)

    assert [file.relative_to(target).as_posix() for file in target.rglob("*")] == ["index.html"]
    assert not list(tmp_path.rglob("escaped.html"))
