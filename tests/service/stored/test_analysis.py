import tracemalloc
import uuid
from datetime import timedelta
from typing import Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.commands.parts.mine import MinedDomain, Mining, mine_stored, pages_to_mine
from scrapy_dedup.core.boilerplate.repeats import (
    DomainAnalysisResult,
    compute_domain_fingerprint,
    hash_block,
    strip_boilerplate,
)
from scrapy_dedup.core.urls.normal_form import UrlRules, page_key
from scrapy_dedup.service.cut.removals import removals_in
from scrapy_dedup.service.stored.analysis import AnalysisParameters, DomainDedupService
from scrapy_dedup.settings import SettingError, Settings
from scrapy_dedup.store.records.records import BARE, SourceRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.learned_site import listing, post
from tests.service.stored_pages import (
    BANNER,
    DOMAIN,
    FOOTER,
    NOON,
    a_url,
    cleaned,
    html_page,
    put,
    put_html,
    put_text,
    stored,
    text_page,
    unique,
)
from tests.tables import table


def analyze(
    store: Store, project: ProjectStore, settings: Settings | None = None, **parameters: Unpack[AnalysisParameters]
) -> DomainAnalysisResult:
    with store.session() as session:
        service = DomainDedupService(session, settings or Settings())
        result = service.analyze_domain(project.id, DOMAIN, **parameters)
        session.commit()
    return result


def stats(store: Store, project: ProjectStore) -> list[dict[str, object]]:
    with store.session(read_only=True) as session:
        return DomainDedupService(session, Settings()).get_domain_stats(project.id)


class TestOneDomain:
    def test_text_is_analysed_exactly_as_the_core_functions_do(self, store, project):
        contents = [text_page(name, BANNER, *([FOOTER] if name < 5 else [])) for name in range(10)]
        put(project, {a_url(name): text for name, text in enumerate(contents)}, field="content")

        result = analyze(store, project)

        expected = compute_domain_fingerprint(contents)
        stripped = [strip_boilerplate(text, set(expected.boilerplate_hashes)) for text in contents]
        assert [cleaned(project, name) for name in range(10)] == [text for text, _ in stripped]
        assert result == DomainAnalysisResult(
            domain=DOMAIN,
            pages_analyzed=expected.pages_analyzed,
            pages_cleaned=10,
            blocks_boilerplate=expected.blocks_boilerplate,
            bytes_removed_total=sum(removed for _, removed in stripped),
        )
        (row,) = stats(store, project)
        assert row["blocks_total"] == expected.blocks_total
        assert row["bytes_removed_avg"] == result.bytes_removed_total // 10

    @pytest.mark.parametrize("footers", [12, 13, 14, 15, 20])
    def test_how_much_is_counted_in_memory_changes_nothing(self, store, project, footers):
        """Blocks in doubt are counted again: those that begin late are, after others were forgotten."""
        in_order = sorted(range(20), key=lambda name: page_key(a_url(name), UrlRules()))
        contents = {
            name: text_page(
                name, BANNER, *(unique(f"{name} {part}") for part in range(3)), *[FOOTER][at < 20 - footers :]
            )
            for at, name in enumerate(in_order)
        }
        put(project, {a_url(name): text for name, text in contents.items()}, field="content")

        exact = analyze(store, project)
        texts = [cleaned(project, name) for name in range(20)]

        assert analyze(store, project, most_blocks=16) == exact
        assert [cleaned(project, name) for name in range(20)] == texts

    def test_a_redesign_in_the_middle_leaves_nothing_of_either_design(self, store, project):
        """Of all pages each banner is on half: fewer than repeat."""
        names = [f"{word}{number}" for word in ("old", "new") for number in range(10)]
        banners = {name: BANNER if name.startswith("old") else FOOTER for name in names}
        put(project, {a_url(name): text_page(name, banners[name]) for name in names}, field="content")

        assert analyze(store, project).blocks_boilerplate == 0
        result = analyze(store, project, epoch_pages=5)

        assert (result.blocks_boilerplate, result.pages_cleaned) == (2, 20)
        (decision,) = project.decisions(page_key(a_url("new1"), UrlRules()))
        assert [rule.evidence for rule in {one.rule for one in removals_in(decision).values()}] == ["on 10 of 10 pages"]
        assert not [name for name in names if banners[name] in (cleaned(project, name) or "")]

    def test_html_loses_the_blocks_that_repeat_at_one_place_and_originals_stay(self, store, project):
        put_html(project, range(6), BANNER, "Menu")

        result = analyze(store, project)

        assert [cleaned(project, name) for name in range(6)] == [unique(name) for name in range(6)]
        assert (result.pages_cleaned, result.blocks_boilerplate) == (6, 2)
        assert result.bytes_removed_total == 6 * len(BANNER + "Menu")
        originals = [stored(project, name).source for name in range(6)]
        assert [page and page.content for page in originals] == [html_page(name, BANNER, "Menu") for name in range(6)]

    def test_a_block_that_is_boilerplate_no_longer_comes_back(self, store, project):
        put_text(project, range(6), BANNER)
        analyze(store, project)
        assert BANNER not in (cleaned(project, 0) or "")

        put_text(project, range(6, 20))
        result = analyze(store, project)

        assert cleaned(project, 0) == text_page(0, BANNER)
        assert (result.blocks_boilerplate, result.pages_cleaned) == (0, 0)
        (row,) = stats(store, project)
        assert row["blocks_boilerplate"] == 0

    def test_parameters_of_html_cut_by_repeats_and_without_them_all_is_as_before(self, store, project):
        """A line at its own place on four of ten pages is content to the template, and repeats for who says so."""
        put(project, {a_url(n): html_page(n, BANNER, *([FOOTER] if n < 4 else [])) for n in range(10)})
        alone = Settings(patterns_enabled=False)
        analyze(store, project, alone)
        by_template = [cleaned(project, name) for name in range(10)]

        strict = analyze(store, project, alone, threshold_pct=0.4, min_pages=2)
        few = [cleaned(project, name) for name in range(10)]
        (by_html,) = [row for row in stats(store, project) if row["method"] == "html"]
        loose = analyze(store, project, alone, min_pages=11)
        all_kept = [cleaned(project, name) for name in range(10)]
        analyze(store, project, alone)

        assert few == [unique(name) for name in range(10)]
        assert (strict.blocks_boilerplate, by_html["threshold_pct"], by_html["min_pages"]) == (2, 0.4, 2)
        assert (loose.blocks_boilerplate, loose.pages_cleaned) == (0, 0)
        assert all(BANNER in (text or "") for text in all_kept)
        assert [cleaned(project, name) for name in range(10)] == by_template != all_kept

    @table("service/a_parameter_out_of_range_is_refused")
    def test_a_parameter_out_of_range_is_refused(self, store, project, parameters, message):
        with pytest.raises(SettingError, match=message):
            analyze(store, project, **parameters)

    def test_all_pages_are_never_in_memory_at_once(self, store, project):
        page = "\n\n".join(str(number) * 2_000 for number in range(10))
        put(project, {a_url(name): page + unique(name) for name in range(480)}, field="content")

        tracemalloc.start()
        analyze(store, project)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert peak < 480 * len(page) / 3


class TestTransactions:
    def test_the_caller_of_one_domain_commits(self, store, project):
        put_text(project, range(6), BANNER)

        with store.session() as session:
            DomainDedupService(session, Settings()).analyze_domain(project.id, DOMAIN)

        assert cleaned(project, 0) is None
        assert stats(store, project) == []

    def test_others_write_while_pages_are_read_and_what_they_replace_stays(self, tmp_path):
        with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}", timeout=timedelta(0)) as store:
            project, key, at = store.project("shop"), page_key(a_url(0)), NOON + timedelta(days=1)
            put_text(project, range(6), BANNER)
            newer = SourceRecord(key, a_url(0), DOMAIN, "content", "Another text.", at)

            with store.session() as session:
                service = DomainDedupService(session, Settings())
                service.analyze_project(project.id, progress=lambda _domain, _pages: project.write([newer]))

            assert (stored(project, 0).source.content, cleaned(project, 0)) == ("Another text.", None)
            assert BANNER not in (cleaned(project, 1) or BANNER)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.sampled_from([BANNER, FOOTER, "x" * 60, "short"]), max_size=4), min_size=1, max_size=12))
def test_any_pages_keep_what_is_not_boilerplate(lasting, pages):
    """Cut and original have the same blocks, apart from those that are reported as boilerplate."""
    project = lasting.project(str(uuid.uuid4()))
    put(project, {a_url(name): text_page(name, *blocks) for name, blocks in enumerate(pages)}, field="content")
    analyze(lasting, project)

    gone = set(project.knowledge(DOMAIN)["text"].boilerplate_hashes)
    for name, blocks in enumerate(pages):
        kept = [block for block in [*blocks, unique(name)] if hash_block(block) not in gone]
        assert [part for part in (cleaned(project, name) or "").split("\n\n") if part] == kept


def mined(project: ProjectStore, batch_pages: int = 1_000) -> Mining:
    read: list[int] = []
    known = pages_to_mine(project)
    found = mine_stored(project, known, Settings(), read.append, batch_pages=batch_pages)
    assert sum(read) == sum(known.values())
    return found


def only(mining: Mining) -> MinedDomain:
    (domain,) = mining.domains
    return domain


@pytest.mark.parametrize("batch_pages", [25, 40, 99])
def test_batches_find_what_one_batch_finds(project, batch_pages):
    put(project, {a_url(f"posts/{number}"): post(f"p{number}") for number in range(60)})
    put(project, {a_url(f"tools/{number}"): listing(f"t{number}") for number in range(40)})
    at_once = only(mined(project))

    found = only(mined(project, batch_pages))

    assert found.batches == -(-100 // batch_pages)
    assert [(one.layout, one.pages, one.url_pattern, one.structure) for one in found.clusters] == [
        (one.layout, one.pages, one.url_pattern, one.structure) for one in at_once.clusters
    ]


def test_pages_without_items_are_mined_too(project):
    """Those that only lead to others give none."""
    put(project, {a_url(f"posts/{name}"): post(name) for name in ("hemp", "jute")})
    put(project, {a_url("tools/wire"): listing("wire")}, field=BARE)

    found = only(mined(project))

    assert (found.pages, len(found.clusters)) == (3, 2)


def test_what_is_no_html_is_left_out_and_counted(project):
    put(project, {a_url("deep"): "<div>" * 100_000, a_url("page"): post("hemp")})
    put_text(project, ["text"])

    found = only(mined(project))

    assert (found.pages, found.left_out) == (1, 2)
