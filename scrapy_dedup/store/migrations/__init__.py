"""The schema's revisions, oldest first.

Named here so that opening a store that is up to date reads one row and does not import Alembic, which takes a third of
a second. A revision is named by its day: of one that is not named here it can be told whether it is older or newer.
"""

from functools import cache
from pathlib import Path

REVISIONS = ("20261128",)
HEAD = REVISIONS[-1]


@cache
def written_tables(dialect: str) -> tuple[str, ...]:
    """Return the statements that make all tables: to compile them from the models takes four times as long."""
    written = Path(__file__).with_name("versions").joinpath(f"initial.{dialect}.sql").read_text(encoding="utf-8")
    return tuple(statement for statement in written.split(";\n") if statement.strip())
