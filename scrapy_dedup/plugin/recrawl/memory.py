"""What a spider's callbacks could remember: every place that their code reaches, and what stands for its content.

From the spider's attributes and methods the walk follows names in code, globals, defaults, closures, attributes and
containers, through the user's own modules. Libraries answer for themselves; what they made and the user holds is
looked into. A place whose content cannot be compared (a connection, a generator) may change unseen.
"""

import itertools
import logging
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, MutableSet
from contextlib import suppress
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from pathlib import PurePath
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

from scrapy_dedup.plugin.recrawl.own_code import borrowed_names, is_own

_MOST_OBJECTS: Final = 50_000
_MOST_BYTES: Final = 20_000_000

NOT_OWN_ATTRIBUTES: Final = frozenset({"crawler", "settings", "logger", "_follow"})
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
            if name not in NOT_OWN_ATTRIBUTES:
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
