"""A PostgreSQL server for the tests that must hold on both databases."""

import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

import psycopg
import pytest
from msgspec import Struct
from sqlalchemy import URL

from scrapy_dedup.store.store import Store
from tests.servers_here import Started, free_port, is_hidden, is_missing, one_for_the_run
from tests.waiting import wait_for

OLDEST = 15
# A throwaway server: what it loses when the power fails would be thrown away anyway.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")
START_SECONDS = 30
# A database that nobody is connected to, or it could not be copied.
_SCHEMA = "store_schema"
_SAID = """
SELECT md5(string_agg(said, ',' ORDER BY said)) FROM (
    SELECT concat_ws(' ', relname, relkind, relacl, attname, atttypid, attnotnull, attisdropped)
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT version_num FROM alembic_version
) AS every(said)"""
# Sessions that a test left hold locks; with triggers off, rows go in any order.
_EMPTY = (
    """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid != pg_backend_pid()""",
    "SET session_replication_role = replica",
    """DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename != 'alembic_version' LOOP
            EXECUTE format('DELETE FROM %I', name);
        END LOOP;
        FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
            EXECUTE format('ALTER SEQUENCE %I RESTART', name);
        END LOOP;
    END $$""",
)
# Stores to be given again, with what tells their schema, by the server's port.
_idle: defaultdict[int, list[tuple[str, list[tuple[object, ...]]]]] = defaultdict(list)


class Server(Struct, frozen=True):
    """A running server on 127.0.0.1, and its superuser's password."""

    port: int
    password: str

    def url(self, database: str) -> URL:
        """Return the URL of one of its databases, as a user would write it."""
        return URL.create("postgresql+psycopg", "postgres", self.password, "127.0.0.1", self.port, database)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Execute a statement outside of any transaction; return its rows."""
        with closing(self.connect(database)) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def connect(self, database: str) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="postgres",
            password=self.password,
            dbname=database,
            connect_timeout=5,
            autocommit=True,
        )

    @contextmanager
    def database(self, template: str = "template0") -> Iterator[URL]:
        """Give the URL of a new database, empty or a copy of another one, dropped at the end."""
        name = f"test_{secrets.token_hex(6)}"
        # Files of a few megabytes are copied in half the time that it takes to log them page by page.
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        yield self.url(name)
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def new_store(self) -> Iterator[URL]:
        """Give the URL of a database with a store's schema and no rows: emptied afterwards, and given again.

        A copy is hundreds of files; where something else than rows was changed in one, another is made.
        """
        idle = _idle[self.port]
        if not idle:
            name = f"store_{secrets.token_hex(6)}"
            self.execute(f"CREATE DATABASE {name} TEMPLATE {_SCHEMA} STRATEGY FILE_COPY")
            idle.append((name, self.execute(_SAID, name)))
        name, said = idle.pop()
        yield self.url(name)
        # A test may have taken any table away.
        with closing(self.connect(name)) as connection, suppress(psycopg.errors.UndefinedTable):
            for statement in _EMPTY:
                connection.execute(statement.encode())
            if connection.execute(_SAID.encode()).fetchall() == said:
                idle.append((name, said))


@cache
def sqlite_schema() -> bytes:
    """Return the file of a store that holds nothing yet."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dedup.db")
        Store.open(URL.create("sqlite", database=str(path))).close()
        return path.read_bytes()


def find_programs() -> Path | None:
    """Return the folder with initdb and postgres, of the newest version that is recent enough."""
    if is_hidden("postgresql"):
        return None
    debian = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.parent.name.isdigit()]
    recent = sorted(
        (path for path in debian if int(path.parent.name) >= OLDEST), key=lambda path: int(path.parent.name)
    )
    on_path = shutil.which("initdb")
    return recent[-1] if recent else Path(on_path).resolve().parent if on_path else None


@contextmanager
def running_server(programs: Path) -> Iterator[Server]:
    """Start a server in a folder of its own; end it, and remove the folder."""
    # Not in pytest's folder, which is closed to the user that the server runs as.
    folder = Path(tempfile.mkdtemp(prefix="dedup-postgresql-"))
    try:
        process, server = _started(programs, folder)
        yield server
        process.send_signal(signal.SIGINT)  # "fast": it ends the sessions that are left
        process.wait(timeout=START_SECONDS)
    finally:
        shutil.rmtree(folder)


def _started(programs: Path, folder: Path) -> "tuple[subprocess.Popen[bytes], Server]":
    server = Server(free_port(), secrets.token_hex(12))
    # PostgreSQL refuses to run as root; Debian's packages bring a user for it.
    user = "postgres" if os.geteuid() == 0 else None
    (folder / "password").write_text(server.password)
    if user:
        for path in (folder, folder / "password"):
            shutil.chown(path, user, user)
    # The order of some human language, as servers have it, not that of code points, as SQLite has it.
    options = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US", "--encoding=UTF8", "--no-sync"]
    access = ["--username=postgres", "--pwfile=password", "--auth=scram-sha-256"]
    settings = (*FAST, "listen_addresses=127.0.0.1", f"port={server.port}", "unix_socket_directories=")
    with (folder / "log").open("w") as log:

        def run(*command: Path | str) -> "subprocess.Popen[bytes]":
            groups: list[str] | None = [] if user else None
            return subprocess.Popen(
                command, cwd=folder, user=user, group=user, extra_groups=groups, stdout=log, stderr=log
            )

        assert run(programs / "initdb", *options, *access, "data").wait() == 0, (folder / "log").read_text()
        named = [word for setting in settings for word in ("-c", setting)]
        process = run(programs / "postgres", "-D", "data", *named)

    def answers() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        try:
            server.connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    wait_for(answers)
    return process, server


def _start(folder: Path) -> Started:
    programs = find_programs()
    if programs is None:
        message = f"no PostgreSQL {OLDEST} or later here; on Debian and Ubuntu: apt-get install postgresql"
        is_missing(message)
    process, server = _started(programs, folder)
    server.execute(f"CREATE DATABASE {_SCHEMA} TEMPLATE template0")
    Store.open(server.url(_SCHEMA)).close()
    return Started(process, signal.SIGINT, {"port": server.port, "password": server.password})


@pytest.fixture(scope="session")
def postgresql() -> Server:
    """Return the server of this run, in which each test makes a database of its own."""
    return Server(**one_for_the_run("postgresql", _start))


@contextmanager
def locked(path: Path, how: str = "IMMEDIATE", timeout: float = 5) -> Iterator[sqlite3.Connection]:
    """Hold the lock of those who write a store's file, or of everybody."""
    with closing(sqlite3.connect(path, timeout=timeout)) as other:
        other.execute(f"BEGIN {how}")
        yield other


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
