"""What docs/adapters.md shows is run here as it stands there."""
# ruff: noqa: E402 - the libraries may not be there

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.extras import needs

needs("langchain_core", "langchain")
needs("llama_index.core", "llamaindex")

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from tests.adapters.builders import a_tombstone, an_item
from tests.store.builders import a_document, a_source
from tests.store.builders import a_url as a_stored_url

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


def block_with(words: str) -> str:
    (found,) = (block for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if words in block)
    return str(found)


Run = Callable[[str], str]


@pytest.fixture
def run(folder, monkeypatch, capsys) -> Run:
    """Return what runs a program in the folder, and says what it printed."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)

    def run(program: str) -> str:
        exec(program, {"__name__": "__main__"})  # our own text
        return capsys.readouterr().out

    return run


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with a feed: two pages, one of them unchanged in the second crawl, the other removed."""
    items = [an_item(1), an_item(2), an_item(1, run="run-2", verdict="unchanged"), a_tombstone(2)]
    (tmp_path / "pages.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    return tmp_path


@pytest.mark.parametrize("library", ["langchain_core.indexing", "llama_index.core.ingestion"])
def test_a_feed_is_indexed(run, library):
    words = f"from {library} import"
    program = next(
        block
        for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
        if words in block and "counts = sync(" in block
    )

    assert run(program) == "2 1 1\n"


def test_an_index_is_filled_from_the_store(run, folder):
    url = a_stored_url("a")
    with Store.open(f"sqlite:///{folder / 'dedup.db'}") as store:
        store.project("shop").write(
            [
                a_document(page_key=page_key(url), url=url),
                a_source(page_key=page_key(url), url=url, cleaned_content="What is left."),
            ]
        )

    assert run(f"{block_with('stored_items(find')}\nprint(documents[0].page_content)") == "What is left.\n"


def test_the_pipeline_that_is_shown_is_taken_by_the_settings_that_are_shown(run, folder):
    (folder / "pipelines.py").write_text(block_with("class Pipeline"))
    settings: dict[str, object] = {}
    exec(block_with("# settings.py"), settings)  # our own text
    name = str(*dict(settings["ITEM_PIPELINES"]))  # type: ignore[call-overload]
    program = (
        "from scrapy.utils.misc import load_object\n"
        "from scrapy.utils.test import get_crawler\n"
        f"pipeline = load_object({name!r}).from_crawler(get_crawler(settings_dict={{'DEDUP_ACK': 'manual'}}))\n"
        "pipeline.open_spider()\n"
        "print(type(pipeline).__name__)"
    )

    assert Settings.read(settings).ack == "manual"
    assert Settings.read(settings).emit_removed
    assert run(program) == "Pipeline\n"
