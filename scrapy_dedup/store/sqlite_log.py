"""SQLite's log of what was written, which moves from there into the file.

By itself it begins anew only when nobody reads from it: readers that overlap, as those of a crawl do, let it grow for
as long as they do (https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files).
"""

import sqlite3
from pathlib import Path

# Four of what a large batch of pages writes, in bytes.
LONGEST = 128_000_000
# Reading what one page asks for takes less; those who read for longer are not waited for.
_PATIENCE_MILLISECONDS = 200


def log_of(path: Path) -> Path:
    """Return where the log of a database is."""
    return path.with_name(f"{path.name}-wal")


def is_long(path: Path) -> bool:
    """Return whether the log of a database has grown beyond what it needs."""
    try:
        return log_of(path).stat().st_size > LONGEST
    except OSError:
        return False


def empty_log(connection: sqlite3.Connection) -> None:
    """Move what is in the log into the file, and cut it to nothing; while somebody reads for long, it stays.

    Raises:
        sqlite3.Error: such as a full disk; what was committed is safe.
    """
    connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
