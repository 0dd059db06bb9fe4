"""A spider's own code: its package, the local files that this imports, and the versions of installed libraries."""

import ast
import os
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Final, NamedTuple

from scrapy import Spider

from scrapy_dedup.core.pages.fingerprints import parts_hash

_MOST_FILES: Final = 5_000
_MOST_BYTES: Final = 100_000_000
_INSTALLED: Final = frozenset({"scrapy", "scrapy_dedup"})
"""Libraries, also where they run from a checkout."""


def is_own(module: str, package: str) -> bool:
    """Say whether a loaded module is the user's: of the spider's package, or of a file that nobody installed."""
    top = module.partition(".")[0]
    if top == package:
        return True
    if top in _INSTALLED or top in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return isinstance(file, str) and _is_local(file)


@lru_cache(maxsize=10_000)
def _is_local(file: str) -> bool:
    path = Path(os.path.realpath(file))
    is_installed = {"site-packages", "dist-packages"} & set(path.parts) or any(map(path.is_relative_to, _libraries()))
    return path.suffix == ".py" and not is_installed


@cache
def _libraries() -> frozenset[Path]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return frozenset(Path(os.path.realpath(path)) for name in names if (path := sysconfig.get_path(name)))


def code_files(kind: type[Spider]) -> list[Path]:
    """Return the `.py` files of the package that holds a spider, then the local ones that they import.

    Raises:
        ValueError: there are none, or too many.
        OSError: one cannot be read.
    """
    files = _package_files(kind)
    package = kind.__module__.partition(".")[0]
    waiting = deque((path, "") for path in files)
    found: dict[str, Path] = {}
    while waiting:
        path, name = waiting.popleft()
        if path.suffix != ".py":
            continue
        for module in _modules_of(path.read_bytes(), name if path.name == "__init__.py" else name.rpartition(".")[0]):
            if module in found or module.partition(".")[0] == package:
                continue
            if (imported := _local_file(module)) is not None:
                found[module] = imported
                waiting.append((imported, module))
                if len(files) + len(found) > _MOST_FILES:
                    raise ValueError(f"it imports more than {_MOST_FILES} files")
    return [*files, *(found[module] for module in sorted(found))]


def _package_files(kind: type[Spider]) -> list[Path]:
    module = sys.modules.get(kind.__module__)
    top = sys.modules.get(kind.__module__.partition(".")[0])
    folders = [Path(folder) for folder in getattr(top, "__path__", ())]
    if not folders:
        file = getattr(module, "__file__", None)
        files = [Path(file)] if file else []
    else:
        files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    if not files or not all(path.is_file() for path in files):
        raise ValueError(f"{kind.__module__} is in no file")
    if len(files) > _MOST_FILES:
        raise ValueError(f"its package has more than {_MOST_FILES} files")
    return files


def _modules_of(content: bytes, package: str) -> Iterator[str]:
    """Yield the modules that a file may import; its package is empty where relative ones are not asked for."""
    for one in source_of(content).imports:
        base = one.module
        if one.level:
            outer = package.split(".")
            if not package or one.level > len(outer):
                continue
            base = ".".join([*outer[: len(outer) - one.level + 1], *([base] if base else [])])
        parts = base.split(".")
        yield from (".".join(parts[: at + 1]) for at in range(len(parts)))
        if one.name:
            yield f"{base}.{one.name}"


def _local_file(module: str) -> Path | None:
    """Return the file of a module that is neither installed nor Python's; without importing anything."""
    top = module.partition(".")[0]
    if top in _INSTALLED or top in sys.stdlib_module_names:
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        file = _found(module)
    return Path(file) if isinstance(file, str) and _is_local(file) and Path(file).is_file() else None


def _found(module: str) -> str | None:
    """Return where a module that is not loaded would be."""
    outer, _, _ = module.rpartition(".")
    if outer:
        path = getattr(sys.modules.get(outer), "__path__", None)
        if path is None and (file := _local_file(outer)) is not None and file.name == "__init__.py":
            path = [str(file.parent)]
        if path is None:
            return None
        spec = PathFinder.find_spec(module, list(path))
    else:
        spec = PathFinder.find_spec(module)
    return None if spec is None else spec.origin


def code_version(files: Sequence[Path]) -> tuple[bytes, bytes]:
    """Return what stands for some files, and for the versions of the distributions that they import.

    Raises:
        ValueError: they are too large.
        OSError: one cannot be read.
    """
    digest, names, size = blake2b(digest_size=16), set[str](), 0
    for path in files:
        content = path.read_bytes()
        size += len(content)
        if size > _MOST_BYTES:
            raise ValueError(f"its files hold more than {_MOST_BYTES:,} bytes")
        digest.update(parts_hash(path.name.encode("utf-8", "surrogateescape"), content))
        if path.suffix == ".py":
            names |= {one.module.partition(".")[0] for one in source_of(content).imports if not one.level}
    found = sorted({one for name in names for one in installed().get(name, ())})
    return digest.digest(), parts_hash(*(f"{one} {_version_of(one)}".encode() for one in found))


@cache
def installed() -> Mapping[str, Sequence[str]]:
    """Return the distributions that each module may be of; asked once a process: it takes a tenth of a second."""
    return packages_distributions()


def _version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


class Imported(NamedTuple):
    """One name of an import statement."""

    level: int
    module: str
    name: str
    """Empty where the module itself is imported."""
    bound: str
    """The name that it has in the file; empty where that is the first part of the module's."""


class Source(NamedTuple):
    """What of a file's text matters here."""

    imports: tuple[Imported, ...] = ()
    assigned: frozenset[str] = frozenset()
    """Names that get a value in it, in whatever scope."""


# A process that crawls often would parse each file again; of 450 files that was eight tenths of a second a crawl.
@lru_cache(maxsize=1_000)
def source_of(content: bytes) -> Source:
    """Return what a file imports and assigns; of one that is no Python nothing."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Source()
    found: list[Imported] = []
    assigned: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += (Imported(0, one.name, "", one.asname or "") for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            found += (Imported(node.level, node.module or "", one.name, one.asname or one.name) for one in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
    return Source(tuple(found), frozenset(assigned))


def borrowed_names(module: str, package: str) -> frozenset[str]:
    """Return the names of a module that it imports from installed libraries, which answer for what is behind them."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str):
        return frozenset()
    try:
        source = source_of(Path(file).read_bytes())
    except OSError:
        return frozenset()
    borrowed = (one for one in source.imports if one.name and not one.level and not is_own(one.module, package))
    return frozenset(one.bound for one in borrowed) - source.assigned
