"""Where a crawl keeps what it knows: its store, and which crawl a JOBDIR holds."""

from pathlib import Path
from uuid import uuid4

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from scrapy.utils.project import data_path

from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError


def database_url(settings: Settings) -> str:
    """Return where the store is.

    Raises:
        StoreError: nobody says where, and there is no project whose folder it could be in, as under Scrapyd.
    """
    if settings.database_url:
        return settings.database_url
    try:
        folder = data_path("")
    except NotConfigured as error:
        # As it is, it would only switch the plugin off.
        raise StoreError(
            "DEDUP_DATABASE_URL='': needs the store's address, such as sqlite:////var/lib/crawls/dedup.db,"
            f" where there is no project folder ({error})"
        ) from error
    return f"sqlite:///{Path(folder) / 'dedup.db'}"


FILE = "dedup.job"
_QUEUE_HEAD_BYTES = 4


def job_of(settings: BaseSettings) -> str | None:
    """Return the name of the JOBDIR's crawl; None where there is no JOBDIR.

    The name stands in a file inside: it moves with the folder, and a folder that was emptied begins a new crawl, whose
    pages must not be taken for those of the old one.
    """
    folder = job_dir(settings)
    if folder is None:
        return None
    file = Path(folder) / FILE
    if file.exists() and (name := file.read_text(encoding="ascii", errors="replace").strip()):
        return name
    name = uuid4().hex
    file.write_text(name + "\n", encoding="ascii")
    return name


def forget_broken_queues(settings: BaseSettings) -> None:
    """Remove disk queues that a kill left without their first bytes: they hold nothing, and Scrapy fails on them."""
    folder = job_dir(settings)
    if folder is None:
        return
    for file in Path(folder, "requests.queue").rglob("*"):
        # Named by priority, and "s" for start requests; chunks of the other kind of queue may be empty.
        if file.name.rstrip("s").lstrip("-").isdigit() and file.is_file() and file.stat().st_size < _QUEUE_HEAD_BYTES:
            file.unlink()
