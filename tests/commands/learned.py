from pathlib import Path

import pytest

from scrapy_dedup.store.records.records import AlarmRecord, LayoutRunRecord
from tests.commands.running import Shop
from tests.service.learned_site import put_site
from tests.service.stored_pages import DOMAIN, NOON, a_url

HOSTILE = "\x1b[2J\u202e"


@pytest.fixture(scope="session")
def learned_shop(tmp_path_factory) -> tuple[Shop, dict[str, int]]:
    """One domain of two layouts, met by two runs; the second found fewer listings, and an alarm."""
    shop = Shop(Path(tmp_path_factory.mktemp("learned")))
    with shop.open() as store:
        project = shop.project(store)
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        layouts = {str(kind): layout for kind, layout in put_site(project).items()}
        project.begin_run(spider="site", jobdir=None, started_at=NOON.replace(day=2))
        project.write([LayoutRunRecord(DOMAIN, layouts["article"], 12, a_url(HOSTILE))])
        alarm = AlarmRecord(DOMAIN, layouts["listing"], f"content root lost {HOSTILE}", 9, 10, NOON, raised_at=NOON)
        project.write([alarm])
    return shop, layouts
