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
def offline_site(tmp_path) -> Path:
    import_module("offline_site.build").build(tmp_path, "http://127.0.0.1:8000")
    return tmp_path


def editions(folder: Path) -> list[dict[str, bytes]]:
    found = []
    for edition in (1, 2):
        root = folder / str(edition)
        import_module("offline_site.build").build(root, "http://127.0.0.1:8000", edition)
        files = [file for file in root.rglob("*") if file.is_file()]
        found.append({f"/{file.relative_to(root).as_posix()}": file.read_bytes() for file in files})
    return found


def test_offline_site_links_only_to_its_own_files(tmp_path):
    for files in editions(tmp_path):
        pages = [address for address in files if address.endswith(".html")]

        for page in pages:
            for link in LexborHTMLParser(files[page].decode()).css("a[href]"):
                address = (link.attributes["href"] or "").partition("?")[0]
                assert address in files, (page, address)
        assert 24 <= len(pages) <= 30


def test_server_answers_304_to_who_has_the_page(demo_site, offline_site):
    with demo_site.served(offline_site) as origin:
        with urllib.request.urlopen(f"{origin}/index.html") as first:
            etag, modified = first.headers["ETag"], first.headers["Last-Modified"]
            assert first.version == 11

        for name, value in (("If-None-Match", etag), ("If-Modified-Since", modified)):
            with pytest.raises(urllib.error.HTTPError) as not_modified:
                urllib.request.urlopen(urllib.request.Request(f"{origin}/index.html", headers={name: value}))
            assert not_modified.value.code == 304
            not_modified.value.close()


def test_server_may_change_its_folder_and_an_etag_changes_with_the_bytes_alone(demo_site, tmp_path):
    for name, text in (("old", "the same"), ("new", "the same"), ("other", "the name")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(text)
    shelf = ["old"]

    def etag() -> str | None:
        with urllib.request.urlopen(f"{origin}/index.html") as answer:
            found: str | None = answer.headers["ETag"]
            return found

    with demo_site.served(lambda: tmp_path / shelf[-1]) as origin:
        etags = [etag()]
        for name in ("new", "other"):
            shelf.append(name)
            etags.append(etag())

    assert etags[0]
    assert etags[0] == etags[1] != etags[2]


def a_release(cache: Path, demo_site: Any, version: str) -> None:
    with tarfile.open(cache / f"{demo_site.PACKAGE}-{version}.tar.gz", "w:gz") as members:
        member = tarfile.TarInfo(f"{demo_site.PACKAGE}-{version}/doc/index.html")
        member.size = 2
        members.addfile(member, io.BytesIO(b"hi"))


def test_releases_are_had_together_or_not_at_all(demo_site, tmp_path):
    old, new = demo_site.VERSIONS
    a_release(tmp_path, demo_site, old)
    broken = tmp_path / f"{demo_site.PACKAGE}-{new}.tar.gz"
    broken.write_bytes(b"half an archive")

    assert demo_site.releases(tmp_path) == []
    assert not broken.exists()

    a_release(tmp_path, demo_site, new)

    folders = demo_site.releases(tmp_path)
    assert [folder.name for folder in folders] == [f"{demo_site.PACKAGE}-{version}" for version in (old, new)]
    assert all((folder / "index.html").read_bytes() == b"hi" for folder in folders)


def test_unpacking_stays_in_its_folder(demo_site, tmp_path):
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
