"""Rules that a reviewer should not have to remember; those about layers of imports stand in setup.cfg."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "scrapy_dedup"
CORE = PACKAGE / "core"

# Tables and formulas may be long; a module is one concept.
MOST_LINES = 800
# What the core may not do: ask the clock, throw dice, read files or the environment, or depend on the hash seed.
NOT_IN_CORE = frozenset("time random secrets os io pathlib socket subprocess threading logging tempfile".split())
NOT_CALLED_IN_CORE = frozenset("hash open print input eval exec".split())
# It makes functions of a model's trees, of numbers alone.
MAY_EXECUTE = "scrapy_dedup/core/boilerplate/verdict_model.py"
NOT_ASKED_IN_CORE = frozenset("now utcnow today".split())
# A project that is cloned elsewhere must not look for these. In two parts, or this file would name them.
MACHINE_PATHS = re.compile("/" + r"(?:work|root|home/\w+)/|/" + "tmp/(?!x)")


def paths(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


MODULES = paths(PACKAGE)


class Module(Struct, frozen=True):
    """What the rules ask about a file; its tree would be a thousand times as large."""

    lines: int
    imports: tuple[str, ...]
    imports_of_the_root: tuple[str, ...]
    called: tuple[str, ...]
    """Names of functions."""
    asked: tuple[str, ...]
    """Names of methods."""
    undocumented: tuple[str, ...]


@cache
def module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, str(path))
    nodes = list(ast.walk(tree))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return Module(
        lines=len(text.splitlines()),
        imports=tuple(name for node in nodes for name in imported(node)),
        imports_of_the_root=tuple(ast.unparse(node) for node in nodes if imports_the_root(node)),
        called=tuple(func.id for func in called if isinstance(func, ast.Name)),
        asked=tuple(func.attr for func in called if isinstance(func, ast.Attribute)),
        undocumented=tuple(public_without_docstring(tree)),
    )


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_the_root(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name == "scrapy_dedup" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and node.module == "scrapy_dedup"


def offenders(these: list[Path], wrong: Callable[[Module], Iterable[str]]) -> list[str]:
    """Return what is wrong in any of the files: one test a rule, which names all that break it."""
    assert these
    return [f"{path.relative_to(PROJECT)}: {one}" for path in these for one in wrong(module(path))]


def is_overload_or_property_setter(node: ast.AST) -> bool:
    decorators = [ast.unparse(one) for one in getattr(node, "decorator_list", [])]
    return any(one.endswith(("overload", ".setter")) for one in decorators)


def public_without_docstring(tree: ast.Module) -> Iterator[str]:
    """Yield public functions, classes and methods of public classes; what is overridden inherits its words."""
    waiting: list[tuple[str, ast.AST, bool]] = [("", node, False) for node in tree.body]
    while waiting:
        prefix, node, inherits = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not inherits and not is_overload_or_property_setter(node):
            yield f"{prefix}{node.name}, line {node.lineno}"
        if isinstance(node, ast.ClassDef):
            waiting.extend((f"{node.name}.", inner, bool(node.bases)) for inner in node.body)


def test_core_runs_without_scrapy_and_sqlalchemy():
    """import-linter does not see what the package's root imports."""
    program = (
        "import sys, scrapy_dedup.core.urls.normal_form, scrapy_dedup.core.pages.render\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'scrapy', 'twisted', 'sqlalchemy', 'alembic', 'itemadapter', 'rich'}))"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_core_gives_the_same_answer_everywhere_and_always():
    def varies(one: Module) -> list[str]:
        return [
            *(name for name in one.imports if name.partition(".")[0] in NOT_IN_CORE),
            *(name for name in one.called if name in NOT_CALLED_IN_CORE),
            *(name for name in one.asked if name in NOT_ASKED_IN_CORE),
        ]

    assert offenders(paths(CORE), varies) == [f"{MAY_EXECUTE}: exec"]


class TestModule:
    def test_is_one_concept_long(self):
        assert offenders(MODULES, lambda one: [f"{one.lines} lines"] if one.lines > MOST_LINES else []) == []

    def test_does_not_import_the_root(self):
        """It would pull Scrapy along, or end in a circle; the version comes from importlib.metadata."""
        inside = [path for path in MODULES if path != PACKAGE / "__init__.py"]

        assert offenders(inside, lambda one: one.imports_of_the_root) == []

    def test_says_what_its_public_parts_return(self):
        """The steps of Alembic are named by it."""
        ours = [path for path in MODULES if path.parent.name != "versions"]

        assert offenders(ours, lambda one: one.undocumented) == []

    def test_keeps_away_from_pickle_and_eval(self):
        def unsafe(one: Module) -> list[str]:
            stored = [name for name in one.imports if name.partition(".")[0] in {"pickle", "marshal", "shelve"}]
            return [*stored, *(name for name in one.called if name in {"eval", "exec"})]

        assert offenders(MODULES, unsafe) == [f"{MAY_EXECUTE}: exec"]


def test_tests_use_real_parts():
    def mocks(one: Module) -> list[str]:
        return [name for name in one.imports if name.startswith(("unittest.mock", "mock", "pytest_mock"))]

    # A tree of each test would take as long as all the rules together.
    named = [path for path in paths(PROJECT / "tests") if "mock" in path.read_text(encoding="utf-8")]

    assert offenders(named, mocks) == []


def tracked_texts() -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    for name in listed.stdout.splitlines():
        path = PROJECT / name
        if (
            path.suffix in {".py", ".md", ".cfg", ".toml", ".html", ".json", ".txt", ".ini", ".mako", ""}
            and path.is_file()
        ):
            yield path


def test_nothing_names_a_path_of_this_machine():
    found = [
        f"{path.relative_to(PROJECT)}: {match[0]}"
        for path in tracked_texts()
        if (match := MACHINE_PATHS.search(path.read_text(encoding="utf-8", errors="replace")))
    ]

    assert found == []
