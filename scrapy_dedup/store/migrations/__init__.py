"""The schema's revision.

Named here so that opening a store that is up to date reads one row and does
not import Alembic, which takes a third of a second. A revision is named by its day:
of another it can be told whether it is older or newer.
"""

HEAD = "20261124"
