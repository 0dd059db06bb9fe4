from datetime import timedelta

import pytest

from scrapy_dedup.core.boilerplate.repeats import Removal, RemovalRule
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.report.values import Report, ShadowedPage
from scrapy_dedup.service.cut.cleaning import Cleaned, Removed
from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.cut.removals import SHADOW, shadow_decisions
from scrapy_dedup.service.report.overview import make_report
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import DecisionRecord
from scrapy_dedup.store.records.stored import StoredRun
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import BANNER, NOON, a_url, put_html, stored

RULE = RemovalRule("repeated block", "on 5 of 5 pages", 5, 5)


def report_of(project: ProjectStore, run: StoredRun | None = None) -> Report:
    return make_report(project, Settings(), NOON, run)


def shadowed_run(project: ProjectStore, days: int = 0, **stats: int) -> StoredRun:
    """Five pages of which a run noted that their banner would go."""
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON + timedelta(days=days))
    put_html(project, range(5), BANNER)
    for number in range(5):
        source = stored(project, number).source
        reading = read_again(source, Settings()) if source else None
        banner = next(block for block in reading.blocks() if block.text == BANNER)
        removed = [Removed(Removal(banner.fingerprint, RULE), banner.path, BANNER)]
        cleaned = Cleaned("", chars_in=200, chars_out=200 - len(BANNER), removed=removed)
        project.write([*shadow_decisions(page_key(a_url(number)), cleaned, NOON)])
    counted = {f"dedup/shadow/boilerplate/{name}": number for name, number in stats.items()}
    project.end_run(run.id, status="finished", reason="finished", stats=counted, finished_at=NOON)
    return project.last_runs(1)[0]


class TestBoilerplate:
    def test_what_would_go_is_shown_block_by_block(self, project):
        shadowed_run(project, pages=5, blocks=5, chars=400)

        (layer,) = report_of(project).shadowed

        assert (layer.layer, dict(layer.counts)) == ("boilerplate", {"blocks": 5, "chars": 400, "pages": 5})
        assert len(layer.samples) == 3
        assert [(each.text == BANNER, each.kept) for each in layer.samples[0].blocks] == [(True, False), (False, True)]
        assert layer.samples[0].blocks[0].evidence == "on 5 of 5 pages"

    @pytest.mark.parametrize(("which", "pages"), [(0, 5), (1, 7), (None, 12)])
    def test_a_run_tells_its_own_counts_and_a_project_all(self, project, which, pages):
        runs = [shadowed_run(project, pages=5), shadowed_run(project, 1, pages=7)]

        (layer,) = report_of(project, None if which is None else runs[which]).shadowed

        assert layer.counts == {"pages": pages}


def test_pages_that_would_be_dropped_whole_are_named_with_why(project):
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
    put_html(project, range(3))
    record = DecisionRecord(page_key(a_url(1)), "canonical", SHADOW, "would be dropped: canonical link", NOON)
    project.write([record])
    stats = {"dedup/shadow/canonical/items": 1, "dedup/shadow/url/requests": 4, "dedup/shadow/url/note": "x"}
    project.end_run(run.id, status="finished", reason="finished", stats=stats, finished_at=NOON)

    url, canonical = report_of(project).shadowed

    assert (url.layer, dict(url.counts), url.pages) == ("url", {"requests": 4}, ())
    assert canonical.pages == (ShadowedPage(a_url(1), "would be dropped: canonical link"),)
