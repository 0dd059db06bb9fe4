"""What the last visit of a page gave, after a way through the store."""

import uuid
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.duplicates.evidence import ITEM_BYTES, NO_FIELDS
from scrapy_dedup.service.recrawl.deliveries import Delivered, Recall
from scrapy_dedup.service.recrawl.run_pages import PagesMet, RecentPages
from scrapy_dedup.store.records.records import DeliveryRecord
from scrapy_dedup.store.store import Store
from tests.store.builders import DOMAIN, NOON, a_document, a_key

GIVER = a_key("parse")
HASHES = st.just(NO_FIELDS) | st.integers(1, 3).map(lambda number: bytes([number]) * ITEM_BYTES)
KEEPERS = st.sampled_from([a_key(2), a_key(3)])


@given(items=st.lists(HASHES), left_out=st.dictionaries(HASHES, KEEPERS), fields=st.sets(HASHES, min_size=1))
def test_the_next_visit_is_told_each_item_of_the_last_also_those_without_a_value(
    lasting: Store, items: list[bytes], left_out: dict[bytes, bytes], fields: set[bytes]
) -> None:
    project = lasting.project(str(uuid.uuid4()))
    alias, keeper = Delivered(items, set(), left_out), Delivered([], fields)
    project.write([a_document(number) for number in (2, 3)])
    project.write([DeliveryRecord(a_key(1), GIVER, DOMAIN, NOON, *alias.packed())])
    project.write([DeliveryRecord(key, GIVER, DOMAIN, NOON, *keeper.packed()) for key in (a_key(2), a_key(3))])

    earlier = Recall(project, PagesMet(), RecentPages(1)).earlier(a_key(1), GIVER, None)

    assert earlier.items == Counter(items)
    assert earlier.left_out == left_out
    assert earlier.keepers == dict.fromkeys(set(left_out.values()), frozenset(fields))
