import uuid

import pytest

from scrapy_dedup.report.values import ReportDomainLayouts, ReportLayout
from scrapy_dedup.service.report.layout_overview import shown_layouts
from scrapy_dedup.store.records.records import BlockEvidence, BoilerplateRecord, LayoutRunRecord, TemplateStateRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.learned_site import FOOTER, put_site
from tests.service.stored_pages import DOMAIN, NOON, a_url


def of_kind(found: tuple[ReportDomainLayouts, ...], kind: str) -> ReportLayout:
    return next(each for each in found[0].layouts if each.kind == kind)


class TestLayouts:
    def test_a_project_that_learned_nothing_has_none(self, store: Store, project: ProjectStore) -> None:
        assert shown_layouts(store, project) == ()

    def test_a_layout_is_told_with_its_template(self, store: Store, project: ProjectStore) -> None:
        put_site(project)

        found = shown_layouts(store, project)

        article = of_kind(found, "article")
        assert (found[0].domain, found[0].pages, found[0].all_layouts) == (DOMAIN, 8, len(found[0].layouts))
        assert (article.pages, article.pages_by_run) == (4, (4,))
        assert article.template is not None
        assert (article.template.version, article.template.state) == (1, "live")
        assert article.template.content
        assert article.template.rules == len(article.template.left_out) > 0
        assert "footer.end" in {each.selector for each in article.template.left_out} | {
            each.selector.rpartition(" > ")[2] for each in article.template.left_out
        }

    def test_examples_are_pages_with_such_urls(self, store: Store, project: ProjectStore) -> None:
        put_site(project)

        article = of_kind(shown_layouts(store, project), "article")

        assert article.examples[0] == a_url("posts/hemp")
        assert len(set(article.examples)) == 3
        assert all(url.startswith(a_url("posts/")) for url in article.examples)

    def test_what_stands_at_a_rule_is_shown_where_a_text_is_kept(self, store: Store, project: ProjectStore) -> None:
        put_site(project)
        path = "body>footer.end>p"
        project.write(
            [
                BoilerplateRecord(
                    DOMAIN,
                    "html",
                    pages_analyzed=20,
                    boilerplate_hashes=("0123456789abcdef",),
                    evidence={"0123456789abcdef": BlockEvidence(20, path, FOOTER)},
                )
            ]
        )

        article = of_kind(shown_layouts(store, project), "article")

        assert article.template is not None
        assert FOOTER in [each.example for each in article.template.left_out]

    def test_of_a_template_that_is_not_live_only_figures_are_shown(self, store: Store, project: ProjectStore) -> None:
        layouts = put_site(project)
        change = TemplateStateRecord(DOMAIN, layouts["article"], None, "probation", "worse than the fallback", NOON)
        project.set_template_state(change)

        article = of_kind(shown_layouts(store, project), "article")

        assert article.template is not None
        assert (article.template.state, article.template.reason) == ("probation", "worse than the fallback")
        assert (article.template.content, article.template.left_out, article.template.rules) == ((), (), 0)

    @pytest.mark.parametrize("domains", [3, 20])
    def test_domains_with_most_pages_come_first_and_some_are_shown(
        self, store: Store, project: ProjectStore, domains: int
    ) -> None:
        for number in range(domains):
            layouts = [LayoutRunRecord(f"{number:02}.example", layout, 1, a_url(number)) for layout in range(number)]
            project.write([*layouts, LayoutRunRecord(f"{number:02}.example", 99, 1, a_url(number))])

        found = shown_layouts(store, project)

        assert len(found) == min(domains, 12)
        assert max(len(each.layouts) for each in found) <= 12

    def test_a_run_shows_the_domains_that_it_met(self, store: Store, project: ProjectStore) -> None:
        first = project.begin_run(spider="site", jobdir=None, started_at=NOON)
        project.write([LayoutRunRecord(DOMAIN, 7, 4, a_url(1))])
        second = project.begin_run(spider="site", jobdir=None, started_at=NOON.replace(day=2))
        project.write([LayoutRunRecord(DOMAIN, 7, 6, a_url(1)), LayoutRunRecord("b.example", 8, 1, a_url(2))])

        def shown(run: uuid.UUID | None) -> dict[str, tuple[int, ...]]:
            return {each.domain: each.layouts[0].pages_by_run for each in shown_layouts(store, project, run)}

        assert shown(None) == {DOMAIN: (4, 6), "b.example": (1,)}
        assert shown(first.id) == {DOMAIN: (4, 6)}
        assert shown(second.id) == shown(None)
