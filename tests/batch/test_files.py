"""Folders that get another name, as Hadoop gives it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# A machine that does much else takes minutes to start Java.
SECONDS = 900
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "tests.batch.files_on_spark"]
    folder = tmp_path_factory.mktemp("files")
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, timeout=SECONDS, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_folder_gets_a_name(cases: dict[str, Any]) -> None:
    assert cases["renamed"] == {"message": "", "files": {"a/out/pages/1": "a/part/pages/1"}}


def test_a_name_that_is_taken_is_not_given(cases: dict[str, Any]) -> None:
    """Hadoop would move the one folder into the other."""
    assert cases["taken"] == {
        "message": "b/part cannot be given the name b/out: it is taken",
        "files": {"b/out/2": "b/out/2", "b/part/1": "b/part/1"},
    }


def test_a_folder_takes_the_place_of_another(cases: dict[str, Any]) -> None:
    assert cases["replaced"] == {"message": "", "files": {"c/old/2": "c/out/2", "c/out/1": "c/part/1"}}


def test_what_cannot_be_replaced_is_put_back(cases: dict[str, Any]) -> None:
    """Here because there is no new folder."""
    assert cases["put-back"]["files"] == {"d/out/2": "d/out/2"}
    assert cases["put-back"]["message"].startswith("d/part cannot be given the name d/out: ")
    assert "FileNotFound" in cases["put-back"]["message"]


def test_nothing_is_replaced_where_there_is_no_room_for_the_old(cases: dict[str, Any]) -> None:
    assert cases["no-room"] == {
        "message": "e/out cannot be given the name e/old: it is taken",
        "files": {name: name for name in ("e/old/3", "e/out/2", "e/part/1")},
    }


def test_what_is_not_there_is_removed(cases: dict[str, Any]) -> None:
    assert cases["nothing-to-remove"] == {"message": "", "files": {"f/file": "f/file"}}
