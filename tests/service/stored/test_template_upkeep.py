import json
import math
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import getitem
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.patterns import compile_expression
from scrapy_dedup.core.templates.url_patterns import url_pattern
from scrapy_dedup.service.cut.site_cleaning import SiteCut, cut_page
from scrapy_dedup.service.stored import template_upkeep as upkeep
from scrapy_dedup.service.stored.template_upkeep import (
    TemplateChange,
    TemplateDesk,
    TemplateFileError,
    diff_templates,
    export_templates,
    import_templates,
    read_templates,
)
from scrapy_dedup.service.templates.layout_figures import UnknownLayoutError, find_layout, name_of
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import TemplateRecord
from scrapy_dedup.store.records.stored import StoredTemplate
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import REST
from scrapy_dedup.store.writer import ProjectStore
from tests.service.learned_site import pages, post, put_site
from tests.service.stored_pages import DOMAIN, NOON, a_url, put

LATER = NOON + timedelta(hours=1)
POST = a_url("posts/hemp")


@dataclass(frozen=True)
class Site:
    store: Store
    project: ProjectStore
    article: int
    listing: int

    def present(self) -> StoredTemplate:
        return upkeep.present_of(self.project.template_versions(DOMAIN, self.article))

    def cut(self, url: str = POST) -> SiteCut:
        html = pages()[url]
        page = parse_page(html)
        assert isinstance(page, Page)
        return cut_page(html, page, url, site_of(DOMAIN, self.project.templates(DOMAIN)), Settings())

    def desk(self, *, dry_run: bool = True) -> TemplateDesk:
        return TemplateDesk(self.project, Settings(), LATER, dry_run)

    def decide(self, *decisions: upkeep.Decision) -> TemplateChange:
        return self.desk(dry_run=False).override(DOMAIN, name_of(self.article), decisions)


@pytest.fixture
def site(store, project) -> Site:
    layouts = put_site(project)
    return Site(store, project, layouts["article"], layouts["listing"])


@pytest.fixture(scope="module")
def exported() -> str:
    """The file of a site's templates."""
    with Store.open("sqlite://") as store:
        put_site(project := store.project("shop"))
        return json.dumps(export_templates(project))


class TestNames:
    @pytest.mark.parametrize(("given", "found"), [("00ab", 0xAB << 48), ("REST", REST), ("r", REST), ("00a", None)])
    def test_the_first_digits_are_enough(self, given, found):
        known = [0xAB << 48, REST, 0x00AC << 48]

        if found is not None:
            assert find_layout(known, given, DOMAIN) == found
        else:
            with pytest.raises(UnknownLayoutError, match=r"beginning of several layouts.*00ab0.*00ac0"):
                find_layout(known, given, DOMAIN)


def replace_body(stored: StoredTemplate, body: Any) -> TemplateRecord:
    values = {name: getattr(stored, name) for name in TemplateRecord.__struct_fields__}
    return TemplateRecord(**values | {"body": body})


class TestOverride:
    @pytest.mark.parametrize(
        ("decisions", "left"),
        [
            pytest.param([("drop", "h1")], None, id="again"),
            pytest.param([("keep", "h1")], [("keep", "h1")], id="the-contrary"),
            pytest.param([("keep", "p"), ("drop", "h1")], [("keep", "p"), ("drop", "h1")], id="later-counts"),
            pytest.param([("forget", "h1"), ("drop", "h1")], None, id="forgotten-and-decided-anew"),
        ],
    )
    def test_a_selector_has_one_decision(self, site, decisions, left):
        site.decide(("drop", "h1"))

        change = site.decide(*decisions)

        assert (upkeep.decisions_of(site.present()) if change.changed else None) == left


class TestTrial:
    def test_no_more_pages_are_tried_than_a_person_waits_for(self, site):
        put(site.project, {a_url(f"posts/more-{number}"): post(f"word{number}") for number in range(12)})

        trial = site.desk().override(DOMAIN, name_of(site.article), [("drop", "h1")]).trial

        assert trial.pages == 20


class TestDiff:
    def test_two_versions_differ_in_what_was_learned_and_decided(self, site):
        present = site.present()
        body = json.loads(json.dumps(dict(present.body)))
        rows = body["template"]["paths"]
        body["template"]["paths"] = [row for row in rows if row[1] != "aside.bar"]
        next(row for row in rows if row[1] == "p.lead")[2] = "drop"
        selectors = {**present.selectors, "exclude": ["body > footer.end"], "title": "h1"}
        site.project.add_template(replace(replace_body(present, body), selectors=selectors))
        site.decide(("drop", ".lead"))

        found = diff_templates(site.project, DOMAIN, name_of(site.article), (1, 3))

        assert (found.before.version, found.after.version) == (1, 3)
        assert found.added == {"title": ("h1",)}
        assert found.removed["exclude"][0] == "body > aside.bar"
        changes = [(one.path.rpartition(">")[2], one.before, one.after) for one in found.verdicts]
        assert [change[0] for change in changes] == ["aside.bar", "p.lead"]
        assert (changes[0][2], changes[1][1]) == (None, "keep")
        assert changes[1][2] not in (None, "keep")
        assert (found.decided, found.undecided) == ((("drop", ".lead"),), ())
        assert not found.is_empty


class TestFiles:
    def test_what_was_exported_is_cut_alike_where_it_is_imported(self, site):
        site.decide(("drop", ".lead"))
        exported = json.dumps(export_templates(site.project))
        other = site.store.project("other")

        done = import_templates(other, read_templates(exported, LATER), dry_run=False)

        assert (done.added, done.unchanged, done.domains, done.done) == (3, 0, (DOMAIN,), True)
        moved = Site(site.store, other, site.article, site.listing)
        assert {url: moved.cut(url) for url in pages()} == {url: site.cut(url) for url in pages()}
        assert export_templates(other) == json.loads(exported)
        assert {one.source for one in other.templates(DOMAIN)} == {"import"}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param("", "it is no JSON", id="empty"),
            pytest.param("[" * 100_000, "it is no JSON", id="deep"),
            pytest.param("[]", "no file that `scrapy dedup templates export` wrote", id="another-file"),
            pytest.param('{"format": "scrapy_dedup templates", "version": 2}', "of version 2", id="another-version"),
            pytest.param('{"format": "scrapy_dedup templates", "version": 1}', "no list", id="no-list"),
            pytest.param(
                '{"format": "scrapy_dedup templates", "version": 1, "templates": [7]}', "template 1", id="no-template"
            ),
        ],
    )
    def test_what_is_no_such_file_is_refused(self, text, message):
        with pytest.raises(TemplateFileError, match=message):
            read_templates(text, LATER)

    def test_more_templates_than_a_domain_can_have_are_refused(self, exported):
        held = json.loads(exported)
        held["templates"] *= 400

        with pytest.raises(TemplateFileError, match=rf"1,200 templates of {DOMAIN}: at most 1,000"):
            read_templates(json.dumps(held), LATER)

    @given(
        st.lists(st.from_regex(r"(/[a-zA-Z0-9._~%-]{1,8}){1,4}/?(\?[a-z]=[a-z0-9]{1,3})?", fullmatch=True), min_size=1)
    )
    def test_every_expression_that_is_learned_can_be_imported(self, paths):
        learned = url_pattern([f"https://www.example.com{path}" for path in paths], [])

        assert learned is not None
        assert compile_expression(learned).source == learned

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"domain": 7}, id="domain"),
            pytest.param({"kind": "x" * 20_000}, id="endless"),
            pytest.param({"layout": "g"}, id="layout"),
            pytest.param({"structure": None}, id="structure"),
            pytest.param({"state": "on"}, id="state"),
            pytest.param({"confidence": 2}, id="confidence"),
            pytest.param({"confidence": float("nan")}, id="not-a-number"),
            pytest.param({"url_pattern": "("}, id="pattern"),
            pytest.param({"url_pattern": r"(?:a|b)\1"}, id="pattern-that-looks-back"),
            pytest.param({"url_pattern": "(?=a)"}, id="pattern-that-looks-ahead"),
            pytest.param({"pages": -5}, id="fewer-than-no-pages"),
            pytest.param({"pages": 10**30}, id="pages-beyond-all-columns"),
            pytest.param({"algorithm_version": 10**400}, id="version-beyond-all-numbers"),
            pytest.param({"pages": math.inf}, id="endless-pages"),
            pytest.param({"confidence": 10**400}, id="confidence-beyond-all-numbers"),
            pytest.param({"body": {"template": {"version": 99}}}, id="body-of-another-version"),
            pytest.param({"body.pages": 10**30}, id="body-with-a-number-beyond-all-columns"),
            pytest.param({"body.template.pages": math.inf}, id="learned-from-endless-pages"),
            pytest.param({"body.template.pages": -5}, id="learned-from-less-than-nothing"),
            pytest.param({"body.vision": {"shown": 1}}, id="half-a-vision"),
            pytest.param({"body": {}}, id="no-body"),
            pytest.param({"body": {"template": {}, "locators": 7}}, id="damaged"),
            pytest.param({"overrides": [{"action": "drop", "selector": "p["}]}, id="selector"),
            pytest.param({"overrides": [{"action": "burn", "selector": "p"}]}, id="action"),
            pytest.param({"overrides": [{"action": "drop", "selector": "p", "at": 2020}]}, id="no-time"),
            pytest.param({"overrides": "p"}, id="overrides"),
            pytest.param({"selectors": "p"}, id="selectors"),
            pytest.param({"paths": [7]}, id="paths"),
        ],
    )
    def test_a_template_that_could_not_be_used_is_refused_with_its_number(self, exported, change):
        held = json.loads(exported)
        for way, value in change.items():
            *outer, name = way.split(".")
            reduce(getitem, outer, held["templates"][1])[name] = value

        with pytest.raises(TemplateFileError, match=r"template 2 cannot be used \(.+\); nothing was imported"):
            read_templates(json.dumps(held), LATER)
