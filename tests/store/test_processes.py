import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from sqlalchemy import text

from scrapy_dedup.store.engine import schema
from scrapy_dedup.store.migrations import HEAD
from scrapy_dedup.store.records.records import KeepPolicy
from scrapy_dedup.store.store import Store
from tests.store.at_once import at_once
from tests.store.builders import a_crawled_url, a_decision, a_document, a_source, a_time

ROOT = str(Path(__file__).parents[2])
STEPS = 8


def opened(url: str, _number: int) -> int:
    create, times = schema.create, []
    schema.create = lambda *given: (times.append(1), create(*given))  # type: ignore[assignment,func-returns-value]
    with Store.open(url, timeout=timedelta(seconds=20)) as store:
        store.project("shop")
    return len(times)


def test_several_processes_may_open_a_new_store_at_once(url):
    """Exactly one creates the tables: the others would fail on tables that are there."""
    assert sorted(at_once(4, opened, url)) == [0, 0, 0, 1]

    with Store.open(url) as store, store.session(read_only=True) as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == HEAD
        assert session.scalar(text("SELECT count(*) FROM projects")) == 1


def write(url: str, worker: int) -> None:
    with Store.open(url, timeout=timedelta(seconds=30)) as store:
        project = store.project("shop", KeepPolicy(pages=2))
        project.begin_run(spider="site", jobdir=None, started_at=a_time())
        for step in range(STEPS):
            names = [(one, step, n) for one in (worker, "shared") for n in range(10)]
            assert not any(project.is_known(str(name)) for name in names)
            project.write(
                record
                for name in names
                for record in (
                    a_source(name, content=str(worker) * 100, fetched_at=a_time(worker)),
                    a_document(name),
                    a_crawled_url(name),
                    a_decision(name),
                )
            )


def test_four_processes_may_write_at_once(url):
    """They share some pages and overwrite each other's; none may fail or lose a row."""
    Store.open(url).close()

    at_once(4, write, url)

    with Store.open(url) as store, store.session(read_only=True) as session:
        for table in ("sources", "documents", "crawled_urls", "decisions"):
            assert session.scalar(text(f"SELECT count(*) FROM {table}")) == (4 + 1) * STEPS * 10
        versions = "SELECT content_bytes FROM sources UNION ALL SELECT content_bytes FROM source_versions"
        kept = session.scalar(text(f"SELECT sum(content_bytes) FROM ({versions}) AS kept"))
        assert kept == session.scalar(text("SELECT stored_bytes FROM projects"))


def test_a_killed_writer_leaves_whole_batches(url):
    Store.open(url).close()
    script = f"""
import os, signal, threading
from scrapy_dedup.store.store import Store
from tests.store.builders import a_crawled_url, a_document
store = Store.open({url.render_as_string(hide_password=False)!r})
project = store.project("shop")
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
for step in range(100_000):
    project.write([record for n in range(20) for record in (a_document((step, n)), a_crawled_url((step, n)))])
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, cwd=ROOT).returncode < 0

    with Store.open(url) as store, store.session(read_only=True) as session:
        documents = session.scalar(text("SELECT count(*) FROM documents"))
        assert documents
        assert documents % 20 == 0
        assert documents == session.scalar(text("SELECT count(*) FROM crawled_urls"))
