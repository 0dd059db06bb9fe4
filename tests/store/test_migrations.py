import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from scrapy_dedup.core.chunks.chunks import ChunkPolicy, split_into_chunks
from scrapy_dedup.core.duplicates import files_hash, shingles, sketch_of
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.fingerprints import content_hash, in_hex, text_hash
from scrapy_dedup.core.templates.layouts import LayoutIndex, skeleton_of
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store import migrations
from scrapy_dedup.store.engine.database import WRITES, make_engine, parse_url
from scrapy_dedup.store.engine.schema import VERSION_TABLE, Schema, inspect_connection, migrate, upgrade
from scrapy_dedup.store.migrations import HEAD, REVISIONS
from scrapy_dedup.store.store import DEFAULT_TIMEOUT, Store
from scrapy_dedup.store.tables.models import Base
from tests.store.test_writer import dump, everything_about

FOLDER = str(Path(str(migrations.__file__)).parent)


@contextmanager
def an_engine(url: URL) -> Iterator[Engine]:
    engine = make_engine(parse_url(url), DEFAULT_TIMEOUT)
    try:
        yield engine.execution_options(**{WRITES: True})
    finally:
        engine.dispose()


def test_the_revisions_named_in_code_are_those_of_alembic():
    config = Config()
    config.set_main_option("script_location", FOLDER)
    scripts = ScriptDirectory.from_config(config)

    assert [script.revision for script in scripts.walk_revisions()] == list(reversed(REVISIONS))
    assert scripts.get_heads() == [HEAD]


@pytest.fixture
def migrated(url) -> Iterator[Engine]:
    """A database that every migration was run on."""
    with an_engine(url) as engine:
        with engine.begin() as connection:
            upgrade(connection)
        yield engine


def test_migrations_make_exactly_the_tables_of_the_models(migrated):
    with migrated.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []


def test_a_new_store_has_the_schema_of_one_that_was_migrated(migrated, new_url):
    """Names of constraints included: a later migration on PostgreSQL finds them by these."""
    created_url = new_url()
    Store.open(created_url).close()

    with an_engine(created_url) as created:
        assert schema(created) == schema(migrated)


def schema(engine: Engine) -> dict[str, dict[str, object]]:
    """Return everything that can be asked of the tables, in a form that can be compared."""
    found = inspect(engine)

    def by_name(parts: Iterable[Mapping[str, Any]]) -> list[str]:
        return sorted(str({**part, "dialect_options": options_of(part)}) for part in parts)

    def options_of(part: Mapping[str, Any]) -> dict[str, str]:
        return {name: str(value) for name, value in part.get("dialect_options", {}).items()}

    return {
        table: {
            "columns": [str({**column, "type": str(column["type"])}) for column in found.get_columns(table)],
            "primary key": found.get_pk_constraint(table),
            "foreign keys": by_name(found.get_foreign_keys(table)),
            "unique": by_name(found.get_unique_constraints(table)),
            "indexes": by_name(found.get_indexes(table)),
        }
        for table in sorted(found.get_table_names())
        if table != VERSION_TABLE
    }


def test_a_present_schema_is_left_alone(url):
    with Store.open(url) as store:
        store.project("shop").write(everything_about(1))
        before = dump(store)

    with an_engine(url) as engine:
        assert migrate(engine) is None
        with engine.connect() as connection:
            assert inspect_connection(connection) is Schema.CURRENT
            if connection.dialect.name == "sqlite":
                assert connection.scalar(text("PRAGMA foreign_keys")) == 1

    with Store.open(url) as store:
        assert dump(store) == before


def test_a_migration_that_fails_changes_nothing(url):
    with an_engine(url) as engine:
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE decisions (id INTEGER)"))  # in the way of one of the tables

        with pytest.raises(DBAPIError, match="already exists"), engine.begin() as connection:
            upgrade(connection)

        assert inspect(engine).get_table_names() == ["decisions"]


FORMS = {"20261128": "57f5384f7746be5061bafffe8debee0006d240dfa4d6d6b260cca76cadf7ec12"}
"""Of each revision, what the forms below add up to."""

URLS = (
    "https://Example.com:443/a/../b?b=2&utm_source=x&a=1#top",
    "http://bücher.example/%7eann/",
    "http://127.0.0.1:8000/?q=é",
)
BODY = """<body class="shop page-12"><nav class="menu"><ul>
<li><a href="/a">Ärzte</a><li><a href="/b">B\u00a0c</a></ul></nav>
<main id="content"><h1>Price list</h1><p>Some words of a page,
<b>bold</b> and \u201cquoted\u201d, that are its own text.</p>
<table><tr><th>Item</th><td>1,299.00 EUR</td></tr></table><pre>x = 1\n  y = 2</pre><img alt="A picture" src="p.png">
<details><summary>Question?</summary><p>Answer: a<sup>2</sup> and 10<sup>6</sup>.</p></details></main>
<footer role="contentinfo"><p>\u00a9 2026 Example. Договор, 利用規約.</p></footer></body>"""


def forms() -> dict[str, object]:
    page = parse_page(f"<title>Prices</title>{BODY}")
    assert isinstance(page, Page)
    index = LayoutIndex()
    index.add(skeleton_of(page), 3)
    blocks = [(block.fingerprint, block.text) for block in page.blocks]
    text = " ".join(text for _, text in blocks)
    sketch = sketch_of(shingles(text), b"example.com")
    return {
        "pages": [page_key(url).hex() for url in URLS],
        "blocks": in_hex(page.fingerprints),
        "texts": [content_hash(text).hex(), text_hash(text).hex()],
        "files": files_hash(BODY, blocks, URLS[2]).hex(),
        "layouts": index.to_json(),
        "sketch": [sketch.shingles, sketch.signature.hex(), list(sketch.bands)],
        "chunks": [[one.id, one.hash.hex()] for one in split_into_chunks(text, b"d" * 16, ChunkPolicy())],
    }


def test_a_store_of_another_form_has_another_revision():
    """Where this fails, name a new first revision in store/migrations: older stores are then refused, not misread."""
    told = json.dumps(forms(), sort_keys=True)

    assert {HEAD: hashlib.sha256(told.encode()).hexdigest()} == FORMS
