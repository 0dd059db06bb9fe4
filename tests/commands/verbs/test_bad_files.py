"""Whatever file a verb is given: it ends, within bounds of time and memory, and tells what is wrong in a line."""

import gzip
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.commands.running import Shop, measured

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MOST_BYTES: Final = 300_000_000
_MOST_CPU_SECONDS: Final = 20
_NAMES: Final = b"".join(b"site-%d.example\n" % number for number in range(20_000))
_HEAD: Final = b"domain_name,blacklist_reason\n"
_EXPRESSIONS: Final = [rf"\w{{3,100}} {number}" for number in range(2_000)]
VERBS: Final = {
    "domains": ("domains", "import", "{}"),
    "candidates": ("domains", "candidates", "{}"),
    "templates": ("templates", "import", "{}"),
    "config": ("store", "config", "import", "{}", "a.example"),
    "config-html": ("store", "config", "test", "https://a.example/", "--html", "{}"),
    "clean": ("clean", "{}", "-O", "clean.jsonl"),
    "restore": ("store", "restore", "{}", "-s", "DEDUP_DATABASE_URL=sqlite:///new.db"),
    "cache": ("store", "cache", "import", "{}"),
}
FILES: Final[dict[str, Callable[[Path], object]]] = {
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "missing": Path.exists,
    "empty": Path.touch,
    "noise": lambda path: path.write_bytes(random.Random(1).randbytes(1_000_000)),
    "unclosed-quote": lambda path: path.write_bytes(_HEAD + b'a.example,"' + b"b.example is copied here\n" * 160_000),
    "long-cell": lambda path: path.write_bytes(_HEAD + b'a.example,"' + b"b.example\n" * 15_000 + b'"\nc.example,x\n'),
    "twelve-million-lines": lambda path: path.write_bytes(b"abc.de\n" * 12_000_000),
    "one-line": lambda path: path.write_bytes(b"a" * 50_000_000),
    "json-deep": lambda path: path.write_bytes(b"[" * 1_000_000),
    "json-wide": lambda path: path.write_bytes(b"[" + b"[]," * 10_000_000 + b"[]]"),
    "expressions": lambda path: path.write_text(json.dumps({"boilerplate_text_patterns": _EXPRESSIONS})),
    "cut.gz": lambda path: path.write_bytes(gzip.compress(_NAMES)[:-500]),
    "cut.zst": lambda path: path.write_bytes(zstd.compress(_NAMES)[:-500]),
    "bomb.gz": lambda path: path.write_bytes(gzip.compress(bytes(10_000_000)) * 31),
}
# What has no end or makes no sense for all of them; the rest for those that read such files, each in its own way.
READ_BY: Final = {
    **dict.fromkeys(("pipe", "endless", "noise"), tuple(VERBS)),
    **dict.fromkeys(("folder", "missing", "empty"), ("domains", "clean", "restore", "cache")),
    **dict.fromkeys(("unclosed-quote", "long-cell", "twelve-million-lines", "bomb.gz"), ("domains", "candidates")),
    **dict.fromkeys(("json-deep", "json-wide"), ("templates", "config")),
    "one-line": ("config-html", "clean"),
    "expressions": ("config",),
    "cut.gz": ("clean",),
    "cut.zst": ("candidates",),
}
PAIRS: Final = [(name, verb) for name in FILES for verb in READ_BY[name]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize(("name", "verb"), PAIRS)
def test_any_file_is_read_or_refused_within_bounds(tmp_path, folder, name, verb):
    path = folder / name
    if not os.path.lexists(path):
        FILES[name](path)
    words = [word.format(path) for word in VERBS[verb]]

    run = measured("dedup", *words, *Shop(tmp_path).settings, folder=tmp_path, cpu_seconds=_MOST_CPU_SECONDS)

    assert run.outcome.code in {0, 1, 2}, run.outcome.err[-2_000:]
    assert "Traceback" not in run.outcome.err
    assert run.memory_bytes < _MOST_BYTES
    assert run.cpu_seconds < _MOST_CPU_SECONDS


@pytest.mark.parametrize(
    ("manifest", "told"),
    [pytest.param({"manifest.jsonl": b"{}\n" * 12_000_000}, "100,001 records cannot be read", id="json")],
)
def test_any_manifest_is_read_or_refused_within_bounds(tmp_path, manifest, told):
    for name, written in manifest.items():
        (tmp_path / name).write_bytes(written)

    run = measured("dedup", "clean", ".", "-O", "out", folder=tmp_path, cpu_seconds=_MOST_CPU_SECONDS)

    assert (run.outcome.code, told in run.outcome.err, "Traceback" in run.outcome.err) == (1, True, False)
    assert run.memory_bytes < _MOST_BYTES


@pytest.mark.parametrize("name", ["cut.gz", "cut.zst"])
def test_of_a_file_that_is_not_whole_no_domain_is_imported(tmp_path, folder, name):
    path = folder / name
    if not path.exists():
        FILES[name](path)
    shop = Shop(tmp_path)

    run = shop.run("domains", "import", str(path))

    assert run.code == 1
    assert "othing was taken from it" in run.err
    assert not shop.file.exists()
