"""Rules that a reviewer should not have to remember; those about layers of imports stand in setup.cfg."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "scrapy_dedup"
CORE = PACKAGE / "core"

# Tables and formulas may be long; a module is one concept.
MOST_LINES = 300
# What the core may not do: ask the clock, throw dice, read files or the environment, or depend on the hash seed.
NOT_IN_CORE = frozenset("time random secrets os io pathlib socket subprocess threading logging tempfile".split())
NOT_CALLED_IN_CORE = frozenset("hash open print input eval exec".split())
NOT_ASKED_IN_CORE = frozenset("now utcnow today".split())
# A project that is cloned elsewhere must not look for these. In two parts, or this file would name them.
MACHINE_PATHS = re.compile("/" + r"(?:work|root|home/\w+)/|/" + "tmp/(?!x)")


def paths(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def named(these: list[Path]) -> list[object]:
    return [pytest.param(path, id=str(path.relative_to(PROJECT))) for path in these]


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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


def test_core_runs_without_scrapy_and_sqlalchemy() -> None:
    """import-linter does not see what the package's root imports."""
    program = (
        "import sys, scrapy_dedup.core.urls, scrapy_dedup.core.blocks, scrapy_dedup.core.render\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'scrapy', 'twisted', 'sqlalchemy', 'alembic', 'itemadapter', 'rich'}))"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", named(paths(CORE)))
def test_core_gives_the_same_answer_everywhere_and_always(path: Path) -> None:
    tree = tree_of(path)
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]

    assert [name for name in imported(tree) if name.partition(".")[0] in NOT_IN_CORE] == []
    assert [func.id for func in calls if isinstance(func, ast.Name) and func.id in NOT_CALLED_IN_CORE] == []
    assert [func.attr for func in calls if isinstance(func, ast.Attribute) and func.attr in NOT_ASKED_IN_CORE] == []


@pytest.mark.parametrize("path", named(paths(PACKAGE)))
class TestModule:
    def test_is_one_concept_long(self, path: Path) -> None:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES

    def test_does_not_import_the_root(self, path: Path) -> None:
        """It would pull Scrapy along, or end in a circle; the version comes from importlib.metadata."""
        if path != PACKAGE / "__init__.py":
            assert [
                ast.unparse(node)
                for node in ast.walk(tree_of(path))
                if (isinstance(node, ast.Import) and any(alias.name == "scrapy_dedup" for alias in node.names))
                or (isinstance(node, ast.ImportFrom) and node.module == "scrapy_dedup")
            ] == []

    def test_says_what_its_public_parts_return(self, path: Path) -> None:
        if path.parent.name == "versions":
            pytest.skip("the steps of Alembic are named by it")
        assert list(public_without_docstring(tree_of(path))) == []

    def test_keeps_away_from_pickle_and_eval(self, path: Path) -> None:
        tree = tree_of(path)
        called = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }

        assert not {"pickle", "marshal", "shelve"} & {name.partition(".")[0] for name in imported(tree)}
        assert not {"eval", "exec"} & called


@pytest.mark.parametrize("path", named(paths(PROJECT / "tests")))
def test_tests_use_real_parts(path: Path) -> None:
    assert [name for name in imported(tree_of(path)) if name.startswith(("unittest.mock", "mock", "pytest_mock"))] == []


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


def test_nothing_names_a_path_of_this_machine() -> None:
    found = [
        f"{path.relative_to(PROJECT)}: {match[0]}"
        for path in tracked_texts()
        if (match := MACHINE_PATHS.search(path.read_text(encoding="utf-8", errors="replace")))
    ]

    assert found == []
