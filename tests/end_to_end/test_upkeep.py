"""What `store gc` removes no crawl needs, and crawls go on beside it and beside a backup."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.running import Outcome, scrapy
from tests.end_to_end.crawling import Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite, copied, let_pass, rows, verdicts
from tests.server import serving


@pytest.fixture
def site() -> Iterator[ChangingSite]:
    with serving(1, lambda _: {}) as server:
        yield ChangingSite(server, pages=8)


def look_after(project: Project, *call: str) -> Outcome:
    done = scrapy("dedup", "store", *call, "--json", folder=project.folder, PYTHONPATH=str(Path.cwd()))
    assert done.code == 0, done.err
    return done


def told(crawled: Crawled) -> tuple[object, ...]:
    items = {line["id"]: (line["cleaned"], line["report"].get("verdict")) for line in crawled.stored}
    counts = [crawled.count(name) for name in ("removed/missed", "removed/pages", "unchanged/callbacks_saved")]
    return verdicts(crawled), items, counts


def test_crawl_after_a_gc_finds_what_it_would_have_found_without(project, site, tmp_path):
    site.crawl(project)
    site.publish(versions={"p1": 2, "p2": 2})
    site.crawl(project)
    # Two pages go; of one that is known nobody leads to it any more.
    site.names.remove("p7")
    site.publish(versions={"p1": 3, "p2": 2})
    for _ in range(2):
        site.crawl(project)
    let_pass(project, 200)
    site.publish()
    site.crawl(project)
    tidied = copied(project, tmp_path / "tidied")

    assert look_after(tidied, "gc", "--yes").json["rows"]["pages"] == 1
    assert rows(tidied, "PRAGMA integrity_check") == [("ok",)]
    site.publish(versions={"p1": 4, "p2": 1, "p3": 2})
    site.names.append("p7")
    without, found = site.crawl(project), site.crawl(tidied)

    assert told(found) == told(without)
    assert verdicts(found)["changed"] == 3


def test_gc_and_backup_beside_a_crawl_cost_it_nothing(project, site, tmp_path):
    site.crawl(project)
    let_pass(project, 200)
    site.publish(versions={f"p{n}": 2 for n in range(4)})
    running = project.start("walker", "-a", f"start={site.url('')}", DOWNLOAD_DELAY=0.3, DEDUP_WRITE_EVERY=1)
    running.wait_for(lambda: len(site.server.requests) > 2)
    look_after(project, "gc", "--yes", "--older-than", "0s")
    backed_up = look_after(project, "backup", str(tmp_path / "shop.backup")).json["rows"]
    crawled = running.finish()

    assert crawled.errors == []
    assert backed_up["documents"] == 9
    assert verdicts(crawled) == {"changed": 4, "unchanged": 5}
    assert verdicts(site.crawl(project)) == {"unchanged": 9}
