import pytest

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.store.records import GoneRecord
from tests.commands.running import Shop, at_a_terminal
from tests.service.stored_pages import NOON, a_url

URL = a_url(1)


@pytest.fixture
def left(shop: Shop) -> Shop:
    """A shop one of whose pages is gone for long."""
    with shop.open() as store:
        shop.project(store).write([GoneRecord(page_key(URL), NOON)])
    return shop


def is_there(shop: Shop) -> bool:
    with shop.open() as store:
        return shop.project(store).page(page_key(URL)) is not None


def test_without_a_word_it_says_what_would_go_and_deletes_nothing(left: Shop) -> None:
    told, answer = left.run("gc"), left.run("gc", "--json").json

    assert told.code == 0
    assert "Would be deleted: project shop" in told.out
    assert "documents of pages gone for long" in told.out
    assert "Dry run: nothing was deleted. With --yes it is deleted." in told.out
    assert (answer["project"], answer["deleted"]) == ("shop", False)
    assert {each["table"] for each in answer["removals"]} >= {"documents", "sources", "crawled_urls"}
    assert answer["rows"] == sum(each["rows"] for each in answer["removals"])
    assert answer["space"].keys() == {"bytes_before", "bytes_after", "unused", "kept_because"}
    assert is_there(left)


def test_yes_deletes_it(left: Shop) -> None:
    announced = left.run("gc", "--json").json
    done = left.run("gc", "--yes", "--json").json

    assert done["deleted"]
    assert done["removals"] == announced["removals"]
    assert not is_there(left)
    assert left.run("gc", "--json").json["removals"] == []


def test_what_is_younger_stays(left: Shop) -> None:
    assert left.run("gc", "--older-than", "5000d", "--json").json["removals"] == []


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1)])
def test_at_a_terminal_it_asks(left: Shop, typed: str, code: int) -> None:
    told = at_a_terminal("dedup", "gc", "-s", "DEDUP_PROJECT=shop", folder=left.folder, typed=typed)

    assert told.code == code
    assert "of project shop? [y/N]" in told.out
    assert is_there(left) == (code == 1)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        pytest.param(["--project", "shap"], 1, "no project 'shap'", id="another-project"),
        pytest.param(["--older-than", "soon"], 2, "is no age", id="no-age"),
        pytest.param(["--yes", "--dry-run"], 2, "either", id="both"),
    ],
)
def test_wrong_call_is_told_in_one_line(left: Shop, options: list[str], code: int, words: str) -> None:
    told = left.run("gc", *options)

    assert told.code == code
    assert words in told.err
    assert told.err.count("\n") == 1
    assert is_there(left)
