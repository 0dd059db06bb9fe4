"""The schema of `dedup` and the page that tells of it."""

from pathlib import Path

import pytest

from tests.item_schema import SCHEMA, faults_of

PAGE = Path(__file__).parents[1] / "docs" / "item.md"


def test_docs_name_what_the_schema_names_in_its_order() -> None:
    rows = [line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]

    assert rows == list(SCHEMA["properties"])


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        ({"verdict": "gone"}, "$.verdict"),
        ({"page_key": "1"}, "$.page_key"),
        ({"removed": {"boilerplate": 3}}, "$.removed"),
        ({"nonsense": 1}, "$: Additional properties"),
    ],
)
def test_what_is_not_in_it_is_a_fault(report: dict[str, object], fault: str) -> None:
    assert [one.startswith(fault) for one in faults_of(report)] == [True]
