from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import delete

from scrapy_dedup.store.domains.layouts import VERSIONS_KEPT
from scrapy_dedup.store.tables.models import LayoutTemplateRow
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, a_state, a_template, a_time


def states(project: ProjectStore, layout: int = 7) -> dict[int, str]:
    return {one.version: one.state for one in project.template_versions(DOMAIN, layout)}


@pytest.mark.parametrize(
    ("change", "versions"),
    [
        pytest.param({}, 1, id="the-same"),
        pytest.param({"created_at": a_time(1), "source": "visual", "reason": "again"}, 1, id="learned-again"),
        pytest.param({"confidence": 0.9, "pages": 60, "url_pattern": "^/b/"}, 1, id="better-known"),
        pytest.param({"overrides": [{"action": "drop", "selector": "h2", "at": "now"}]}, 1, id="note"),
        pytest.param({"body": {"keep": ["article"]}}, 2, id="body"),
        pytest.param({"overrides": [{"action": "keep", "selector": "h2"}]}, 2, id="overrides"),
        pytest.param({"state": "live"}, 2, id="state"),
    ],
)
def test_only_another_cut_or_state_makes_a_version(project, change, versions):
    first = a_template(overrides=[{"action": "drop", "selector": "h2"}])
    project.write([first])

    again = replace(first, **change)
    assert project.add_template(again) == versions

    newest, *_ = stored = project.template_versions(DOMAIN, 7)
    assert len(stored) == versions
    described = ("confidence", "pages", "url_pattern")
    assert [getattr(newest, name) for name in described] == [getattr(again, name) for name in described]
    assert newest.created_at == (first if versions == 1 else again).created_at


def test_a_live_version_retires_the_one_before_it(project):
    project.write([a_template(state="live"), a_template(8, state="live")])

    project.write([a_template(state="live", body={}, created_at=a_time(2))])

    assert states(project) == {2: "live", 1: "retired"}
    assert states(project, 8) == {1: "live"}
    retired = project.template_versions(DOMAIN, 7)[1]
    assert (retired.reason, retired.state_at) == ("version 2 took its place", a_time(2))
    assert [(one.layout, one.version) for one in project.templates(DOMAIN)] == [(7, 2), (8, 1)]


def test_changes_of_one_batch_happen_in_their_order(project):
    project.write([a_template(), a_state("live"), a_template(body={}), a_state("live"), a_state("live", 1)])

    assert states(project) == {2: "retired", 1: "live"}


def test_the_oldest_versions_go_but_for_the_live_one(project):
    project.write([a_template(state="live", body={"n": -1})])

    project.write(a_template(body={"n": number}) for number in range(VERSIONS_KEPT + 5))

    newest = VERSIONS_KEPT + 6
    assert list(states(project)) == [*range(newest, newest - VERSIONS_KEPT, -1), 1]
    assert states(project)[1] == "live"


CHANGES = st.lists(
    st.one_of(
        st.builds(a_template, st.sampled_from([1, 2]), state=st.sampled_from(["live", "probation"]), body=st.just({}))
        | st.builds(lambda n: a_template(1, state="live", body={"n": n}), st.integers(0, 3)),
        st.builds(
            lambda state, version, layout: a_state(state, version, layout=layout),
            st.sampled_from(["live", "retired", "probation"]),
            st.sampled_from([None, 1, 2, 3]),
            st.sampled_from([1, 2]),
        ),
    ),
    max_size=12,
)


@given(CHANGES)
@settings(max_examples=60, deadline=None)
def test_a_layout_never_has_two_live_versions_or_two_of_a_number(lasting, changes):
    lasting.project("law")
    with lasting.session() as session:
        session.execute(delete(LayoutTemplateRow))
        session.commit()
    project = lasting.project("law")
    project.write(changes)

    for layout in (1, 2):
        versions = [one.version for one in project.template_versions(DOMAIN, layout)]
        assert all(newer > older for newer, older in pairwise(versions))
        assert list(states(project, layout).values()).count("live") <= 1
    assert {(one.layout, one.version) for one in project.templates(DOMAIN)} == {
        (one.layout, one.version) for one in project.template_figures() if one.state == "live"
    }
