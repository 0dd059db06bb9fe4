"""Where the store of a Scrapy project is."""

from pathlib import Path

from scrapy.exceptions import NotConfigured
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
