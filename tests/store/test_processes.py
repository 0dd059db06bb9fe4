"""Several processes on one store, and processes that die."""

import subprocess
import sys
from pathlib import Path

from sqlalchemy import URL, text

from scrapy_dedup.store.migrations import HEAD
from scrapy_dedup.store.store import Store

ROOT = str(Path(__file__).parents[2])


def spelt(url: URL) -> str:
    return url.render_as_string(hide_password=False)


def test_several_processes_may_open_a_new_store_at_once(url: URL) -> None:
    """Exactly one creates the tables: the others would fail on tables that are there."""
    script = f"""
import sys
from datetime import timedelta
from scrapy_dedup.store import migrating
from scrapy_dedup.store.store import Store
create, times = migrating.create, []
migrating.create = lambda *given: (times.append(1), create(*given))
sys.stdin.read(1)
with Store.open({spelt(url)!r}, timeout=timedelta(seconds=20)) as store:
    store.project("shop")
print(len(times))
"""
    command = [sys.executable, "-W", "error", "-c", script]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    for process in processes:
        process.stdin.write("x")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    assert sorted(output.strip() for output in outputs) == ["0", "0", "0", "1"]
    with Store.open(url) as store, store.session(read_only=True) as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == HEAD
        assert session.scalar(text("SELECT count(*) FROM projects")) == 1


def test_four_processes_may_write_at_once(url: URL) -> None:
    """They share some pages and overwrite each other's; none may fail or lose a row."""
    Store.open(url).close()
    script = f"""
import sys
from datetime import timedelta
from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.store import Store
from tests.store.builders import a_crawled_url, a_decision, a_document, a_source, a_time
worker = sys.argv[1]
with Store.open({spelt(url)!r}, timeout=timedelta(seconds=30)) as store:
    project = store.project("shop", KeepPolicy(pages=2))
    project.begin_run(spider="site", jobdir=None, started_at=a_time())
    for step in range(20):
        names = [(worker, step, n) for n in range(10)] + [("shared", step, n) for n in range(10)]
        for name in names:
            assert not project.is_known(str(name))
        project.write(
            record
            for name in names
            for record in (
                a_source(name, content=worker * 100, fetched_at=a_time(int(worker))),
                a_document(name), a_crawled_url(name), a_decision(name),
            )
        )
"""
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", script, str(worker)], cwd=ROOT) for worker in range(4)
    ]
    assert [process.wait(timeout=120) for process in processes] == [0] * 4

    with Store.open(url) as store, store.session(read_only=True) as session:
        for table in ("sources", "documents", "crawled_urls", "decisions"):
            assert session.scalar(text(f"SELECT count(*) FROM {table}")) == 4 * 20 * 10 + 20 * 10
        versions = "SELECT content_bytes FROM sources UNION ALL SELECT content_bytes FROM source_versions"
        kept = session.scalar(text(f"SELECT sum(content_bytes) FROM ({versions}) AS kept"))
        assert kept == session.scalar(text("SELECT stored_bytes FROM projects"))


def test_a_killed_writer_leaves_whole_batches(url: URL) -> None:
    Store.open(url).close()
    script = f"""
import os, signal, threading
from scrapy_dedup.store.store import Store
from tests.store.builders import a_crawled_url, a_document
store = Store.open({spelt(url)!r})
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
