import pytest
from sqlalchemy import update

from scrapy_dedup.store.engine.errors import DamagedStoreError
from scrapy_dedup.store.tables.models import Memo
from scrapy_dedup.store.upkeep.cache import MemoFigures, StoredMemos
from tests.store.builders import NOON, a_key, a_time

ROOMY = 10**9


def key(name: object) -> bytes:
    return a_key(name) + a_key(f"{name} again")


@pytest.mark.parametrize("change", ["cut", "altered", "emptied"])
def test_what_was_altered_is_damaged_and_can_be_kept_anew(project, change):
    memos = StoredMemos(project, ROOMY)
    memos.keep(key(1), "models.ask", '{"price":10}', NOON)
    with project.transaction(write=True) as connection:
        (result,) = connection.execute(Memo.__table__.select().with_only_columns(Memo.result)).one()
        altered = {"cut": result[:-1], "altered": result.replace(b"10", b"11"), "emptied": b""}[change]
        assert altered != result
        connection.execute(update(Memo).values(result=altered))

    with pytest.raises(DamagedStoreError, match="cannot be unpacked"):
        memos.find(key(1), None)
    memos.keep(key(1), "models.ask", '{"price":12}', NOON)
    assert memos.find(key(1), None) == '{"price":12}'


def test_beyond_the_bound_the_oldest_go(project):
    """By whichever process wrote them."""
    for number in range(60):
        StoredMemos(project, 10_000).keep(key(number), "models.ask", f'"{number:0100}"', a_time(number))

    figures = StoredMemos(project).figures()
    held = [number for number in range(60) if StoredMemos(project).find(key(number), None)]
    assert 7_000 < figures.size_bytes <= 10_000
    assert held == list(range(60 - figures.memos, 60))
    StoredMemos(project, 150).keep(key("larger than all"), "models.ask", '"x"', a_time(99))
    assert StoredMemos(project).figures() == figures


def test_memos_are_deleted_by_their_age_or_all(project):
    memos = StoredMemos(project, ROOMY)
    for number in range(4):
        memos.keep(key(number), "models.ask", "1", a_time(number))
    all_of_them = memos.figures()

    assert memos.remove(a_time(3), dry_run=True).memos == 3
    assert memos.figures() == all_of_them
    assert memos.remove(a_time(3), dry_run=False).memos == 3
    assert memos.find(key(3), None) == "1"
    assert memos.remove(None, dry_run=False).memos == 1
    assert memos.figures() == MemoFigures(0, 0)
