"""docs/tutorial.md, run from its first command to its last in an empty folder."""

import json
import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import scrapy
from tests.server import Answer, Site, serving

TUTORIAL = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
SERVER = "http://127.0.0.1:8000"
PAGES = 12


def steps() -> list[tuple[str, str]]:
    """Return each block with its language; the first one installs the package, which is done."""
    install, *others = re.findall(r"```(\w+)\n(.*?)```", TUTORIAL, re.DOTALL)
    assert "pip install" in install[1]
    return others


def served(folder: Path, origin: str) -> Site:
    """Return the pages of the folder, each as it is when it is asked for."""

    def page(file: Path, times: int) -> Answer:
        text = file.read_text(encoding="utf-8")
        return Answer(text, headers={"ETag": f'"{len(text)}"'})

    return {f"{origin}/{file.name}": partial(page, file) for file in folder.glob("*.html")}


def run(command: str, folder: Path) -> str:
    name, *arguments = shlex.split(command, comments=True)
    if name == "scrapy":
        ended = scrapy(*arguments, folder=folder)
        assert ended.code == 0, ended.err
        return ended.out
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        [name, *arguments], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    ).stdout


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.crawl
def test_all_that_is_shown_runs_and_ends_as_it_says(tmp_path):
    printed: dict[str, str] = {}
    with serving(1, lambda _: {}) as server:
        for language, block in steps():
            text = block.replace(SERVER, server.origins[0])
            if language == "console":
                for command in text.splitlines():
                    printed[command] = run(command.removeprefix("$ "), tmp_path)
                server.site = served(tmp_path / "site", server.origins[0])
            else:
                name = re.match(r"# (\S+)\n", text)
                (tmp_path / name[1]).write_text(text, encoding="utf-8")

    first = lines(tmp_path / "first.jsonl")
    assert len(first) == PAGES
    assert all("cookies" not in item["cleaned_content"] and item["dedup"]["verdict"] == "new" for item in first)
    verdicts = [item["dedup"]["verdict"] for item in lines(tmp_path / "all.jsonl")]
    assert sorted(verdicts) == ["changed", *["unchanged"] * (PAGES - 1)]
    for feed in ("delta.jsonl", "reuse.jsonl"):
        assert [item["url"].rpartition("/")[2] for item in lines(tmp_path / feed)] == ["json.html"]
    assert "cookies" in next(out for command, out in printed.items() if "explain" in command)
    assert "A new paragraph about comments" in next(out for command, out in printed.items() if "--diff" in command)
    assert (tmp_path / "report.html").stat().st_size > 0
    chunks = [row for row in lines(tmp_path / "chunks.jsonl") if row["op"] == "upsert"]
    assert {row["url"] for row in chunks} == {item["url"] for item in first}
    assert "A new paragraph about comments" in "".join(row["text"] for row in chunks)
