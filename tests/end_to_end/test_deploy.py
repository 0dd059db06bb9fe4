"""The set-up of several workers in docs/deploy: run from Debian's packages, and compared with its containers."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from scrapy_dedup.plugin.run_state import database_url
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from tests.databases import find_programs
from tests.end_to_end.crawling import ROOT
from tests.server import serving
from tests.servers_here import is_hidden, is_missing
from tests.sites import interleaved, pages_of

DEPLOY = ROOT / "docs" / "deploy"
PATIENCE_SECONDS = 240


@pytest.fixture
def _packages() -> None:
    is_there = shutil.which("redis-server") and shutil.which("redis-cli") and not is_hidden("redis")
    missing = [] if is_there else ["redis-server"]
    missing += [] if find_programs() else ["postgresql"]
    if missing:
        is_missing(f"apt-get install {' '.join(missing)}")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may enter: where root runs the script, PostgreSQL runs as another user."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return read


def env_file() -> dict[str, str]:
    lines = (DEPLOY / "shared.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.usefixtures("_packages")
def test_the_script_crawls_with_two_workers_and_leaves_nothing_running(open_folder):
    folder = open_folder / "shared"
    with serving(1, lambda origins: interleaved(origins, (20,))) as server:
        start = f"{server.origins[0]}/hub"
        arguments = ["--workers=2", f"--start={start}", f"--folder={folder}"]
        command = [sys.executable, str(DEPLOY / "start.py"), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )

        logs = {path.name: path.read_text() for path in folder.glob("*.log")}
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{logs}"
        items = [json.loads(line) for path in folder.glob("output/*.jsonl") for line in path.read_text().splitlines()]
        assert Counter(item["url"] for item in items) == dict.fromkeys({*pages_of(server.site), start}, 1)

    assert sorted(logs) == ["postgresql.log", "redis.log", "worker-1.log", "worker-2.log"]
    assert "database system is shut down" in logs["postgresql.log"]
    assert "ready to exit, bye bye" in logs["redis.log"]


def test_containers_do_as_the_script_does(compose):
    """They read one file, give a worker what its settings read, and run the same commands."""
    services = compose["services"]
    script = (DEPLOY / "start.py").read_text()
    read = set(re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", (DEPLOY / "shared_settings.py").read_text()))
    by_script = set(re.findall(r"\"(REDIS_URL|DEDUP_DATABASE_URL|CRAWL_OUTPUT)\"", script))
    named = set(re.findall(r"\$\{(\w+)\}", (DEPLOY / "compose.yaml").read_text()))

    assert services.keys() == {"redis", "postgresql", "worker", "serve"}
    assert {services[name]["env_file"] for name in ("postgresql", "worker", "serve")} == {"shared.env"}
    assert named <= env_file().keys()
    assert by_script == set(services["worker"]["environment"]) == read - env_file().keys()
    assert services["worker"]["command"] == "scrapy crawl site -a start=${CRAWL_START} -a pages=0"
    assert '"scrapy", "crawl", "site", "-a", f"start={env[\'CRAWL_START\']}", "-a", "pages=0"' in script
    for option in ("--appendonly yes", "--maxmemory-policy noeviction"):
        assert option in services["redis"]["command"]
        assert option in script


def test_where_there_is_no_project_folder_the_store_needs_an_address(tmp_path, monkeypatch):
    """As under Scrapyd, whose projects are eggs: the plugin must not be off without a word."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "json")

    with pytest.raises(StoreError, match="DEDUP_DATABASE_URL=''"):
        database_url(Settings())
