"""What an upkeep removes no crawl needs, and crawls go on beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.running import Outcome, scrapy
from tests.end_to_end.crawling import Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite, copied, let_pass, rows, verdicts
from tests.server import serving

pytestmark = pytest.mark.crawl


@pytest.fixture
def site() -> Iterator[ChangingSite]:
    with serving(1, lambda _: {}) as server:
        yield ChangingSite(server, pages=8)


def gc(project: Project, *options: str) -> Outcome:
    done = scrapy("dedup", "gc", "--yes", "--json", *options, folder=project.folder, PYTHONPATH=str(Path.cwd()))
    assert done.code == 0, done.err
    return done


def told(crawled: Crawled) -> tuple[object, ...]:
    """Return what a crawl found, and what it gave."""
    items = {line["id"]: (line["cleaned"], line["report"].get("verdict")) for line in crawled.stored}
    counts = [crawled.count(name) for name in ("removed/missed", "removed/pages", "unchanged/callbacks_saved")]
    return verdicts(crawled), items, counts


def test_crawl_after_an_upkeep_finds_what_it_would_have_found_without(
    project: Project, site: ChangingSite, tmp_path: Path
) -> None:
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

    done = gc(tidied).json
    assert done["deleted"]
    assert {each["table"] for each in done["removals"]} >= {"documents", "extractions"}
    assert rows(tidied, "PRAGMA integrity_check") == [("ok",)]
    site.publish(versions={"p1": 4, "p2": 1, "p3": 2})
    site.names.append("p7")
    without, found = site.crawl(project), site.crawl(tidied)

    assert told(found) == told(without)
    assert verdicts(found)["changed"] == 3


def test_upkeep_beside_a_crawl_takes_nothing_that_it_needs(project: Project, site: ChangingSite) -> None:
    site.crawl(project)
    let_pass(project, 200)
    site.publish(versions={f"p{n}": 2 for n in range(4)})
    running = project.start("walker", "-a", f"start={site.url('')}", DOWNLOAD_DELAY=0.3, DEDUP_WRITE_EVERY=1)
    running.wait_for(lambda: len(site.server.requests) > 2)
    gc(project, "--older-than", "0s")
    crawled = running.finish()

    assert crawled.errors == []
    assert verdicts(crawled) == {"changed": 4, "unchanged": 5}
    assert verdicts(site.crawl(project)) == {"unchanged": 9}
