from scrapy_dedup.store.pages import site_configs
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, a_document, a_key, a_time, stale_pages

CONFIG = {"boilerplate_css_selectors": [".header"]}


def put(store: Store, project: ProjectStore, config: dict[str, list[str]], domain: str = DOMAIN) -> tuple[int, int]:
    with store.session() as session:
        found = site_configs.put(session.connection(), project.id, domain, config, a_time())
        session.commit()
    return found


def test_a_change_is_a_version_and_its_pages_are_to_be_cleaned_again(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1), a_document(2), a_document(3, domain="other.example")])

    assert put(store, project, CONFIG) == (1, 2)
    assert put(store, project, {}) == (2, 2)
    assert stale_pages(project) == 2


def test_what_is_stored_already_changes_nothing(store: Store, project: ProjectStore) -> None:
    put(store, project, CONFIG)
    project.write([a_document(1)])

    assert put(store, project, CONFIG) == (1, 0)
    assert stale_pages(project) == 0


def test_what_is_put_is_got(store: Store, project: ProjectStore) -> None:
    put(store, project, CONFIG)
    put(store, project, {}, "a.example")

    with store.session(read_only=True) as session:
        connection = session.connection()
        found = site_configs.get(connection, project.id, DOMAIN)
        assert found == site_configs.StoredSiteConfig(DOMAIN, CONFIG, 1, a_time())
        assert site_configs.get(connection, project.id, "unknown.example") is None
        assert [one.domain for one in site_configs.of_project(connection, project.id)] == ["a.example", DOMAIN]


def test_what_is_unset_is_gone_and_its_pages_are_to_be_cleaned_again(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1)])
    put(store, project, CONFIG)

    with store.session() as session:
        assert site_configs.forget_stale(session.connection(), project.id, [a_key(1), a_key(2)]) == 1
        assert site_configs.unset(session.connection(), project.id, DOMAIN) == 1
        assert site_configs.unset(session.connection(), project.id, DOMAIN) == 0
        session.commit()

    assert stale_pages(project) == 1
