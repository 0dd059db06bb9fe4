"""Do the test suites of Scrapy, and of what works with it, pass with the add-on in every crawler?

    python -m benchmarks.peer_suites SOURCE [--python PYTHON] [--only WORD] [--again TIMES]

SOURCE is an unpacked sdist of Scrapy, scrapy-poet, scrapy-redis (`REDIS_HOST`, `REDIS_PORT`) or spidermon. PYTHON has
this package, what is tested, and what its tests need (tox.ini), with pytest-timeout and pytest-xdist.
The suite runs twice, in copies with a Scrapy of their own: bare, and with `forced_addon.py` at the end of Scrapy's
default settings, each test with a store of its own. Fields that the add-on adds are taken out again before the tests
see them. What passes bare and fails with it is run again alone, in both; what is not the same each time counts as
flaky. Every other one must stand in `peer_suites.json` with a reason.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import results

ADDED: Final = Path(__file__).parent / "forced_addon.py"
REVIEWED: Final = Path(__file__).parent / "peer_suites.json"
_SETTINGS: Final = Path("scrapy") / "settings" / "default_settings.py"
_COMMANDS: Final = Path("tests") / "utils" / "cmdline.py"
_MARKS: Final = "not requires_internet and not requires_mitmproxy"
_MOST_SECONDS: Final = 3 * 3600


@dataclass(frozen=True, slots=True)
class Suite:
    """A copy of a project's source, and who runs it."""

    folder: Path
    stores: Path
    python: Path

    @classmethod
    def copied(cls, source: Path, folder: Path, python: Path, *, forced: bool) -> "Suite":
        """Return a copy, with the add-on where it is forced."""
        shutil.copytree(source, folder)
        if (commands := folder / _COMMANDS).exists():
            # They may take longer than 15 s where two cores have other things to do; none of the tests is about time.
            commands.write_text(commands.read_text(encoding="utf-8").replace("timeout=15,", "timeout=120,"), "utf-8")
        if not (folder / "scrapy").exists():
            where = [str(python), "-c", "import scrapy; print(scrapy.__path__[0])"]
            installed = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
            shutil.copytree(installed, folder / "scrapy")
        if forced:
            with (folder / _SETTINGS).open("a", encoding="utf-8") as settings:
                settings.write(ADDED.read_text(encoding="utf-8"))
        return cls(folder, folder.with_name(f"{folder.name}-stores"), python)

    def run(self, tests: Sequence[str], only: str = "") -> dict[str, str]:
        """Return what became of each test: passed, failed or skipped."""
        shutil.rmtree(self.stores, ignore_errors=True)
        self.stores.mkdir()
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        # A newer pytest than the suite was written with says what will be taken out, and the suite makes that an error.
        options = [
            "-W",
            "ignore::pytest.PytestDeprecationWarning",
            "-q",
            # Others were written with an older Scrapy; what it warns of since is not about the add-on.
            *(("-n", "2") if (self.folder / _COMMANDS).exists() else ("-W", "default")),
            "-p",
            "no:cacheprovider",
            "--timeout",
            "180",
            "-o",
            "junit_family=xunit1",
        ]
        command = [str(self.python), "-m", "pytest", *options, "-m", _MARKS, "-k", only, f"--junitxml={report}", *tests]
        subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "DEDUP_SUITE_STORES": str(self.stores), "PYTHONPATH": str(self.folder)},
            check=False,
            timeout=_MOST_SECONDS,
        )
        if not report.exists():
            sys.exit("The suite did not come to its end; are its requirements installed?")
        return {self._id(case): _outcome(case) for case in ET.parse(report).iter("testcase")}

    def _id(self, case: ET.Element) -> str:
        """Return a test's name as pytest takes it: the report has its module and its class as one dotted word."""
        parts = case.get("classname", "").split(".")
        for end in range(len(parts), 0, -1):
            file = Path(*parts[:end]).with_suffix(".py")
            if (self.folder / file).is_file():
                return "::".join([file.as_posix(), *parts[end:], case.get("name", "")])
        return "::".join([*parts, case.get("name", "")])


def headers(source: Path) -> dict[str, str]:
    """Return what the first lines of an sdist's `PKG-INFO` say: `Name`, `Version`."""
    lines = (source / "PKG-INFO").read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines[:4])


def _outcome(case: ET.Element) -> str:
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="of a project, with its tests")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="that has what the tests need")
    parser.add_argument("--only", default="", help="tests to be run, as for pytest's -k")
    parser.add_argument("--again", type=int, default=2, help="times that a test which differs is run again")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        bare = Suite.copied(args.source, folder / "bare", args.python.absolute(), forced=False)
        forced = Suite.copied(args.source, folder / "forced", args.python.absolute(), forced=True)
        first, second = bare.run(["tests"], args.only), forced.run(["tests"], args.only)
        differing = [test for test, outcome in second.items() if outcome == "failed" and first.get(test) == "passed"]
        steady = set(differing)
        for _ in range(args.again if differing else 0):
            alone = bare.run(differing), forced.run(differing)
            steady &= {test for test in differing if alone[0].get(test) == "passed" and alone[1].get(test) == "failed"}
    failing = [test for test in differing if test in steady]
    said = headers(args.source)
    reviewed: Mapping[str, str] = json.loads(REVIEWED.read_text(encoding="utf-8")).get(said["Name"], {})
    unexplained = [test for test in failing if test not in reviewed]
    counts = Counter(first.values()), Counter(second.values())
    figures = {
        "suite": f"{said['Name']} {said['Version']}",
        "bare": dict(counts[0]),
        "forced": dict(counts[1]),
        "failing": {test: reviewed.get(test, "") for test in failing},
        "flaky": [test for test in differing if test not in steady],
    }
    _show(*counts, failing, reviewed)
    for test in sorted(set(reviewed) & {test for test, outcome in second.items() if outcome == "passed"}):
        print(f"reviewed, but passes: {test}")
    results.write(args.json, figures)
    if unexplained:
        sys.exit(f"{len(unexplained)} tests fail by the add-on, and nobody has said why")


def _show(
    bare: Mapping[str, int], forced: Mapping[str, int], failing: Sequence[str], reviewed: Mapping[str, str]
) -> None:
    for name, counts in (("bare", bare), ("with the add-on", forced)):
        print(f"{name:16}", ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    for test in failing:
        print(f"{test}: {reviewed.get(test, 'NOT EXPLAINED')}")


if __name__ == "__main__":
    main()
