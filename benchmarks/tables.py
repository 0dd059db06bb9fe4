"""The figures of docs/benchmarks.md, from the results in benchmarks/results: prose is written by hand, no figure is.

    python -m benchmarks.tables

A block stands between `<!-- figures: NAME -->` and `<!-- end of figures -->`. Where there is no result, it says so.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks import growth_picture, peers_picture, soak_picture
from benchmarks.figures import BLOCKS, Results, points_of

DOCS: Final = Path(__file__).parents[1] / "docs"
RESULTS: Final = Path(__file__).parent / "results"
_BLOCK: Final = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->\n)", re.DOTALL)


def main() -> None:
    write_docs(DOCS, RESULTS)


def write_docs(docs: Path, results: Path) -> None:
    """Write the blocks of benchmarks.md and its pictures."""
    for name, text in written(docs, read(results)).items():
        (docs / name).write_text(text, encoding="utf-8")


def written(docs: Path, results: Results) -> dict[str, str]:
    """Return the files of the docs that hold figures, by name."""
    files = {"benchmarks.md": with_figures((docs / "benchmarks.md").read_text(encoding="utf-8"), results)}
    if "beside_peers" in results:
        files["benchmarks.svg"] = peers_picture.draw(peers_picture.rows_in(results["beside_peers"]["figures"]))
    if len(points := points_of(results)) > 1:
        files["growth.svg"] = growth_picture.draw(points)
    if "soak" in results:
        files["soak.svg"] = soak_picture.draw(results["soak"]["figures"]["crawls"])
    return files


def read(folder: Path) -> Results:
    """Return all results by name."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))}


def with_figures(page: str, results: Results) -> str:
    """Return a page with its blocks written anew."""

    def block(found: re.Match[str]) -> str:
        lines = _lines(found.group(2), results)
        return f"{found.group(1)}\n" + "".join(f"{line}\n" for line in lines) + f"\n{found.group(3)}"

    return _BLOCK.sub(block, page)


def _lines(name: str, results: Results) -> list[str]:
    needed, make = BLOCKS[name]
    if not any(one in results for one in needed):
        return [f"*Not run yet: {' '.join(f'`{one}`' for one in needed)} of `make bench`.*"]
    lines = list(make(results))
    for one in needed:
        if one in results:
            lines += ["", source(results[one])]
    return lines


def source(result: Mapping[str, Any]) -> str:
    """Return where a result comes from; its file in benchmarks/results names the machine and all versions."""
    return f"`{result['command'].split(' --json ')[0]}`, {result['date']}."


if __name__ == "__main__":
    main()
