"""Which crawl a JOBDIR holds."""

from pathlib import Path
from uuid import uuid4

from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir

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
