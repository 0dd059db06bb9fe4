"""Which crawl a JOBDIR holds."""

from pathlib import Path
from uuid import uuid4

from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir

FILE = "dedup.job"


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
