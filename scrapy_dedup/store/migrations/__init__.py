"""The schema's revisions, oldest first.

Named here so that opening a store that is up to date reads one row and does not import Alembic, which takes a third of
a second. A revision is named by its day: of one that is not named here it can be told whether it is older or newer.
"""

REVISIONS = ("20261128",)
HEAD = REVISIONS[-1]
