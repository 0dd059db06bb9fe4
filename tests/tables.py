"""Tables of cases that read as a specification: `tests/data/cases/NAME.json`, an object a case."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "data" / "cases"


def table(name: str) -> pytest.MarkDecorator:
    """Return what gives a test each case of a file: its fields but `id` are the test's arguments."""
    cases = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    names = [field for field in cases[0] if field != "id"]
    return pytest.mark.parametrize(
        names, [pytest.param(*(case[field] for field in names), id=case["id"]) for case in cases]
    )
