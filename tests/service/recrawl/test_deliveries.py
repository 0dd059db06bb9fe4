"""What the last visit of a page gave, after a way through the store."""

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.duplicates.evidence import ITEM_BYTES, NO_FIELDS
from scrapy_dedup.plugin.acknowledgement import RecentPages
from scrapy_dedup.service.recrawl.deliveries import Delivered, Recall
from scrapy_dedup.service.recrawl.run_pages import PagesMet
from scrapy_dedup.store.records.records import DeliveryRecord
from scrapy_dedup.store.store import Store
from tests.store.builders import DOMAIN, NOON, a_key
