"""A spider's own code, and what its callbacks could remember: every place that it reaches, and what stands for that.

From the spider's attributes and methods the walk follows names in code, globals, defaults, closures, attributes and
containers, through the user's own modules. Libraries answer for themselves; what they made and the user holds is
looked into. A place whose content cannot be compared (a connection, a generator) may change unseen.
"""

import ast
import itertools
import logging
import os
import re
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from contextlib import suppress
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path, PurePath
from threading import Lock, RLock
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from scrapy import Spider
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import StatsCollector

from scrapy_dedup.core.pages.fingerprints import parts_hash

_MOST_FILES: Final = 5_000
_MOST_CODE_BYTES: Final = 100_000_000
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
        if size > _MOST_CODE_BYTES:
            raise ValueError(f"its files hold more than {_MOST_CODE_BYTES:,} bytes")
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


_MOST_OBJECTS: Final = 50_000
_MOST_BYTES: Final = 20_000_000

_NOT_OWN_ATTRIBUTES: Final = frozenset({"crawler", "settings", "logger", "_follow"})
"""Of a spider, as Scrapy sets them."""
_NO_CALLBACKS: Final = frozenset(
    {"__init__", "from_crawler", "update_settings", "start", "start_requests", "close", "closed"}
)
"""Of a spider: what runs before or after all callbacks, unless these call it."""
_READS_STATS: Final = frozenset({"get_value", "get_stats", "_stats"})
_BY_ANY_NAME: Final = frozenset({"getattr", "attrgetter", "vars", "__dict__", "eval", "exec"})
"""Code with such a name in it may mean an attribute that it does not name."""
_OF_ANY_MODULE: Final = frozenset({"globals", "import_module", "__import__", "eval", "exec"})

_VALUES: Final[tuple[type, ...]] = (
    *(str, bytes, int, float, complex, re.Pattern, range, Decimal, Fraction),
    *(date, time, timedelta, tzinfo, PurePath, UUID),
)  # fmt: skip
"""What does not change, and says by its repr all that it is."""
_PLAIN: Final = (bool, int, float, str, bytes, list, dict, set, tuple, bytearray)
_CONTAINERS: Final = (MutableMapping, MutableSequence, MutableSet)
_HARMLESS: Final[tuple[Any, ...]] = (
    *(logging.Logger, logging.LoggerAdapter, logging.Handler, type(Lock()), type(RLock())),
    *(Crawler, BaseSettings, StatsCollector, SignalManager, ExecutionEngine),
    *(CodeType, types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.UnionType),
)
"""What keeps nothing that a callback would decide by; how the crawl's stats are read is looked for in the code."""
_HARMLESS_NAMES: Final = frozenset(
    {f"lxml.etree.{name}" for name in ("XPath", "XPathEvaluator", "HTMLParser", "XMLParser", "XSLT")}
    | {"_struct.Struct", "_abc._abc_data"}
)
_COPYING: Final = ("__reduce_ex__", "__reduce__", "__getstate__")
_CACHED: Final = type(lru_cache(lambda: None))
_BEHIND: Final[Mapping[type, tuple[str, ...]]] = {
    types.MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset"),
    types.CellType: ("cell_contents",),
}
"""What is behind something that stands for a function."""


def is_argument(name: str, value: object) -> bool:
    """Say whether an attribute may be what a user chose: a spider may keep its arguments under private names."""
    if name.startswith("dedup_") or name in _NOT_OWN_ATTRIBUTES or name == "_job":  # Scrapyd's, another one in each run
        return False
    return not name.startswith("_") or value is None or isinstance(value, str | int | float)


class Seen(NamedTuple):
    """The places of one moment."""

    places: Mapping[str, bytes]
    """What stands for the content of each, within this process."""
    hidden: tuple[str, ...] = ()
    """Those that may change unseen, and why."""

    def changed(self, earlier: "Seen") -> list[str]:
        """Return the places whose content is another one."""
        names = self.places.keys() | earlier.places.keys()
        return sorted(name for name in names if self.places.get(name) != earlier.places.get(name))


class _Named(NamedTuple):
    names: tuple[str, ...]
    words: frozenset[str]
    """And the texts in it."""


@lru_cache(maxsize=10_000)
def _named_in(code: CodeType) -> _Named:
    """Return the names that code asks for, with that of the functions in it."""
    names, words = set(code.co_names), set[str]()
    for one in code.co_consts:
        if isinstance(one, CodeType):
            inner = _named_in(one)
            names |= set(inner.names)
            words |= inner.words
        elif isinstance(one, str):
            words.add(one)
        elif isinstance(one, tuple):
            # What a function imports.
            words |= {part for part in one if isinstance(part, str)}
    return _Named(tuple(sorted(names)), frozenset(words | names))


class SpiderMemory:
    """What the callbacks of one spider could remember."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._package = type(spider).__module__.partition(".")[0]
        self._borrowed: dict[str, frozenset[str]] = {}

    def look(self) -> Seen:
        """Return what is there now: of an ordinary spider in half a millisecond, of the most objects in 0.15 s."""
        return _Walk(self._spider, self._package, self._borrowed).seen()


class _TooMuchError(Exception):
    """There is more than is looked at."""


class _Walk:
    """One walk through all of it."""

    def __init__(self, spider: Spider, package: str, borrowed: dict[str, frozenset[str]]) -> None:
        self._spider = spider
        self._package = package
        self._borrowed = borrowed
        self._places: dict[str, Any] = {}
        self._hides: dict[str, str] = {}
        """By place, the first class in it whose objects do not say what they hold."""
        self._named_by: dict[str, str] = {}
        """Of places that matter only where code names them: by which name."""
        self._own: dict[str, bool] = {}
        self._words: set[str] = set()
        self._met: dict[int, object] = {id(spider): spider}
        self._looked_up: set[tuple[str, str]] = set()
        self._classes: set[type] = set()
        self._reached: dict[str, ModuleType] = {}
        self._read: set[tuple[int, int]] = set()
        self._stack: list[tuple[str, Any]] = []
        self._holds_stats = False
        self._objects = 0
        self._bytes = 0

    def seen(self) -> Seen:
        """Return what stands for each place."""
        try:
            self._class(type(self._spider))
            self._settle()
            self._attributes()
            self._settle()
            # What is not for callbacks, where their code names it all the same.
            for kind in type(self._spider).__mro__:
                for name in (_NO_CALLBACKS - {"__init__"}) & self._words & vars(kind).keys():
                    if self._is_own(kind.__module__):
                        self._push(f"{kind.__module__}.{kind.__qualname__}.{name}", vars(kind)[name])
            self._settle()
            modules = [one for name, one in sorted(sys.modules.items()) if name.partition(".")[0] == self._package]
            if self._words & _OF_ANY_MODULE or {"sys", "modules"} <= self._words:
                for module in modules:
                    self._module(module)
                self._settle()
            self._of_crawler()
            self._settle()
            hidden = self._hidden()
            # Code may reach the variables of the package by ways that are not followed.
            for module in modules:
                self._module(module, _PLAIN)
            self._drain()
        except _TooMuchError as error:
            return Seen({}, (f"{error} holds too much to compare",))
        except Exception as error:  # noqa: BLE001 - any class may raise anything, and the crawl goes on
            return Seen({}, (f"something cannot be looked at ({type(error).__name__}: {str(error)[:200]})",))
        return Seen({name: place.digest() for name, place in self._places.items()}, hidden)

    def _hidden(self) -> tuple[str, ...]:
        found = [
            f"{place} holds a {kind}"
            for place, kind in self._hides.items()
            if (name := self._named_by.get(place)) is None or name in self._words or self._words & _BY_ANY_NAME
        ]
        if ("stats" in self._words or self._holds_stats) and self._words & _READS_STATS:
            found.append("its code reads the crawl's stats")
        return tuple(found)

    # Where it begins.

    def _attributes(self) -> None:
        for name, value in vars(self._spider).items():
            if name not in _NOT_OWN_ATTRIBUTES:
                place = f"the attribute {name!r}"
                self._named_by[place] = name
                self._push(place, value)

    def _of_crawler(self) -> None:
        """Look at what somebody has set on the crawler and its parts, beside what these set themselves."""
        crawler = getattr(self._spider, "crawler", None)
        if crawler is None:
            return
        for name in self._words & set(crawler.settings):
            # They are frozen; what is in them is not.
            if isinstance(value := crawler.settings[name], _PLAIN):
                self._push(f"the setting {name}", value)
        parts = [one for one in vars(crawler).values() if type(one).__module__.startswith("scrapy.")]
        for owner in (crawler, *parts):
            known = _set_by(type(owner))  # type: ignore[arg-type] # a class can be hashed
            for name, value in list(getattr(owner, "__dict__", {}).items()):
                is_state = isinstance(value, _PLAIN) or self._is_own(type(value).__module__)
                if name not in known and (is_state or name in self._words):
                    place = f"{type(owner).__name__}.{name}"
                    self._named_by[place] = name
                    self._push(place, value)

    # One object after the other.

    def _push(self, place: str, *values: Any) -> None:
        """Let values be looked at, the last first."""
        self._stack += ((place, value) for value in values)

    def _settle(self) -> None:
        """Look at all that is reached, and at the modules in modules that code turns out to name."""
        words = -1
        while words != len(self._words):
            words = len(self._words)
            self._drain()
            for module in list(self._reached.values()):
                self._module(module)
            self._drain()

    def _drain(self) -> None:
        while self._stack:
            place, one = self._stack.pop()
            self._objects += 1
            if self._objects > _MOST_OBJECTS or self._bytes > _MOST_BYTES or len(self._stack) > _MOST_OBJECTS:
                raise _TooMuchError(place)
            self._one(place, one)

    def _feed(self, place: str, text: str) -> None:
        self._bytes += len(text)
        known = self._places.get(place)
        if known is None:
            known = self._places[place] = blake2b(digest_size=16)
        known.update(text.encode("utf-8", "surrogatepass") + b"\0")

    def _one(self, place: str, one: Any) -> None:
        kind = type(one)
        if one is None or isinstance(one, _VALUES):
            self._feed(place, f"{kind.__name__} {one!r}")
            if not hasattr(one, "__dict__"):
                return
        if id(one) in self._met:
            self._feed(place, f"#{id(one)}")
            return
        # Held, so that no id is used twice.
        self._met[id(one)] = one
        if isinstance(one, ModuleType):
            self._feed(place, f"module {one.__name__}")
            if self._is_own(one.__name__):
                self._module(one)
        elif isinstance(one, type):
            self._feed(place, f"class {one.__module__}.{one.__qualname__} {id(one)}")
            self._class(one)
        elif isinstance(one, _HARMLESS) or _is_harmless(kind):
            self._feed(place, kind.__name__)
            self._holds_stats |= isinstance(one, StatsCollector)
        elif isinstance(one, FunctionType):
            self._function(place, one)
        else:
            self._feed(place, f"{kind.__module__}.{kind.__qualname__}")
            if self._is_own(kind.__module__):
                self._class(kind)
            try:
                parts = self._parts(one)
            except Exception:  # noqa: BLE001 - any class may raise anything
                self._hides.setdefault(place, f"{kind.__module__}.{kind.__qualname__}")
                parts = list(getattr(one, "__dict__", {}).items())
            self._push(place, *reversed(parts))

    # Code.

    def _is_own(self, module: object) -> bool:
        if not isinstance(module, str):
            return False
        known = self._own.get(module)
        if known is None:
            known = self._own[module] = is_own(module, self._package)
        return known

    def _function(self, place: str, one: FunctionType) -> None:
        module = one.__globals__.get("__name__") or one.__module__
        self._feed(place, f"{module}.{one.__qualname__} {id(one.__code__)}")
        if str(module).partition(".")[0] == "scrapy_dedup":
            self._push(place, getattr(one, "__wrapped__", None))
            return
        if self._is_own(module):
            place = f"{module}.{one.__qualname__}"
            self._code(one.__code__, one.__globals__, str(module))
        for value in (one.__defaults__, one.__kwdefaults__, one.__dict__):
            if value:
                self._push(place, value)
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True):
            with suppress(ValueError):  # it is empty
                # That of functools.singledispatch only says again what is registered.
                if not (module == "functools" and isinstance(cell.cell_contents, WeakKeyDictionary)):
                    self._feed(place, name)
                    self._push(place, cell.cell_contents)

    def _code(self, code: CodeType, variables: dict[str, Any], own: str) -> None:
        """Follow the names in code."""
        if (id(code), id(variables)) in self._read:
            return
        self._read.add((id(code), id(variables)))
        named = _named_in(code)
        self._words |= named.words
        libraries = [self._variable(own, name, variables[name]) for name in named.names if name in variables]
        for name in named.names:
            if name not in variables or "." in name:
                for module in _imported_as(name, variables):
                    if self._is_own(module.__name__):
                        self._module(module)
                    else:
                        libraries.append(module)
        self._set_on(libraries, named.names)

    def _variable(self, module: str, name: str, value: Any) -> Any:
        """Look at a module's variable; return a library's module or class, on which something may be set."""
        if self._is_library(value):
            return value
        if (module, name) not in self._looked_up:
            self._looked_up.add((module, name))
            if module not in self._borrowed:
                self._borrowed[module] = borrowed_names(module, self._package)
            if name not in self._borrowed[module]:
                self._push(f"{module}.{name}", value)
        return None

    def _is_library(self, value: Any) -> bool:
        if isinstance(value, ModuleType):
            return not self._is_own(value.__name__)
        return isinstance(value, type) and not self._is_own(value.__module__)

    def _module(self, module: ModuleType, kinds: Any = object) -> None:
        """Look at all variables of a module that are of some kinds; at modules in it where code names them."""
        if kinds is object:
            self._reached[module.__name__] = module
        for name, value in list(vars(module).items()):
            is_wanted = isinstance(value, kinds) and (not isinstance(value, ModuleType) or name in self._words)
            if is_wanted and not _is_dunder(name):
                self._variable(module.__name__, name, value)

    def _set_on(self, libraries: list[Any], names: Iterable[str]) -> None:
        """Look at what code may have set on libraries' modules or classes, or on some in these."""
        met = {id(None), id(sys)}
        while libraries:
            owner = libraries.pop()
            if id(owner) in met:
                continue
            met.add(id(owner))
            for name in names:
                value = vars(owner).get(name)
                if self._is_library(value):
                    libraries.append(value)
                elif isinstance(value, _CONTAINERS) or (
                    not isinstance(value, ModuleType | type) and self._is_own(type(value).__module__)
                ):
                    self._push(f"{owner.__name__}.{name}", value)

    def _class(self, kind: type) -> None:
        """Look at what the user's classes hold, and follow their methods."""
        is_spider, is_enum = issubclass(kind, Spider), issubclass(kind, Enum)
        for one in kind.__mro__:
            if not self._is_own(one.__module__) or one in self._classes:
                continue
            self._classes.add(one)
            self._met[id(one)] = one
            for name, value in list(vars(one).items()):
                is_code = isinstance(value, FunctionType | classmethod | staticmethod | property)
                is_noise = not is_code and (_is_dunder(name) or name == "_abc_impl" or (is_enum and name[0] == "_"))
                if not is_noise and not (is_spider and name in _NO_CALLBACKS):
                    place = f"{one.__module__}.{one.__qualname__}.{name}"
                    self._push(place, value)
        if self._is_own(type(kind).__module__):
            self._push(f"{kind.__module__}.{kind.__qualname__}", type(kind))

    def _parts(self, one: Any) -> list[Any]:
        """Return what an object holds.

        Raises:
            Exception: it does not say.
        """
        if isinstance(one, _CACHED):
            is_of_library = isinstance(one.__wrapped__, FunctionType) and not self._is_own(one.__wrapped__.__module__)
            return [] if is_of_library else [one.__wrapped__, tuple(one.cache_info())]
        if (names := _BEHIND.get(type(one))) is not None:
            return [getattr(one, name) for name in names]
        if type(one) in (dict, types.MappingProxyType):
            return [part for pair in one.items() for part in pair]
        if type(one) in (list, tuple):
            return list(one)
        return sorted(one, key=repr) if type(one) in (set, frozenset) else _given_out(one)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_harmless(kind: type) -> bool:
    module = kind.__module__
    return f"{module}.{kind.__qualname__}" in _HARMLESS_NAMES or module.partition(".")[0] == "scrapy_dedup"


def _imported_as(name: str, variables: Mapping[str, Any]) -> Iterator[ModuleType]:
    """Yield the loaded modules that a name in a function may mean: that of an import, absolute or relative."""
    package = str(variables.get("__package__") or "")
    paths = [name]
    while package:
        paths.append(f"{package}.{name}" if name else package)
        package = package.rpartition(".")[0]
    yield from (sys.modules[path] for path in paths if path in sys.modules)


@lru_cache(maxsize=100)
def _set_by(kind: type) -> frozenset[str]:
    """Return the names that a class of Scrapy's uses itself."""
    functions = [one for base in kind.__mro__ for one in vars(base).values() if isinstance(one, FunctionType)]
    return frozenset(name for one in functions for name in _named_in(one.__code__).names)


def _given_out(one: Any) -> list[Any]:
    """Return what an object says of itself to be copied, and what it has where its class says that in a way of its own.

    Raises:
        Exception: it says nothing.
    """
    kind = type(one)
    if isinstance(one, itertools.count):
        return [repr(one)]
    if kind.__module__ == "itertools":
        raise TypeError("to copy it may consume it")
    told = one.__reduce_ex__(4)
    parts = [told] if isinstance(told, str) else list(told[1:])
    parts = [list(itertools.islice(part, _MOST_OBJECTS)) if isinstance(part, Iterator) else part for part in parts]
    is_usual = all(getattr(kind, name) is getattr(object, name) for name in _COPYING)
    return parts if is_usual else [*parts, object.__getstate__(one)]
