"""The schema's revisions, oldest first.

Named here so that opening a store that is up to date reads one row and does
not import Alembic, which takes a third of a second.
"""

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012")
HEAD = REVISIONS[-1]
