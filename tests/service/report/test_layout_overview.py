from scrapy_dedup.report.values import ReportDomainLayouts, ReportLayout
from scrapy_dedup.service.report.layout_overview import shown_layouts
from scrapy_dedup.store.records.records import BlockEvidence, BoilerplateRecord, TemplateStateRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.learned_site import FOOTER, put_site
from tests.service.stored_pages import DOMAIN, NOON, a_url


def of_kind(found: tuple[ReportDomainLayouts, ...], kind: str) -> ReportLayout:
    return next(each for each in found[0].layouts if each.kind == kind)


class TestLayouts:
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
