"""Which domains are learned, and from which of their pages; by the driver, a row in memory at a time."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from scrapy_dedup.batch.columns import raw, unraw
from scrapy_dedup.batch.lookups import LookupWriter
from scrapy_dedup.service.cleaning_run import Plan
from scrapy_dedup.service.cleaning_run_samples import MOST_SAMPLE_BYTES, DomainPages
from scrapy_dedup.service.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings


def plan_of(
    counts: Iterable[tuple[bytes, int]],
    known: Callable[[str], SiteKnowledge | None],
    knowledge: LookupWriter,
    settings: Settings,
) -> Plan:
    """Return what becomes of each domain.

    Args:
        counts: domains by name, each with the number of its pages.
        known: what the store knows of a domain; None where that is nothing to cut pages by.
        knowledge: takes what is known.
        settings: from how many pages a domain is learned.
    """
    plan = Plan()
    for name, pages in counts:
        one = DomainPages(unraw(name), pages)
        found = known(one.domain)
        if found is not None:
            knowledge.put(name, json.dumps(found.to_json()))
            plan.known.append(one)
        else:
            (plan.small if pages < settings.min_pages else plan.learned).append(one)
    return plan


def choose(rows: Iterable[tuple[Any, ...]], plan: Plan, chosen: LookupWriter, most: int) -> None:
    """Choose of each domain that is to be learned the pages with the smallest keys, within a bound of bytes.

    Args:
        rows: domain, page key, place and size of pages, by domain and key; those with the smallest keys are there.
        plan: says what is to be learned, and is told from how many pages.
        chosen: takes their places.
        most: pages of a domain.
    """
    places = {raw(one.domain): place for place, one in enumerate(plan.learned)}
    for domain, pages in groupby(rows, itemgetter(0)):
        place = places.get(domain)
        if place is None:
            continue
        number = total = 0
        for _, _, record, size in pages:
            total += size
            if number == most or (number and total > MOST_SAMPLE_BYTES):
                break
            number += 1
            chosen.put(record, "")
        plan.learned[place] = replace(plan.learned[place], sampled=number)
