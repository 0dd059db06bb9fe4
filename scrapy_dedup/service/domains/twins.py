"""Domains with and without `www.`: joined once their pages agreed, and two again when later pages differ."""

import uuid
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct
from sqlalchemy import Connection

from scrapy_dedup.core.domains import (
    TwinEvidence,
    TwinReason,
    TwinVerdict,
    bare_name,
    judge_twins,
    of_pair,
    standing_for_both,
)
from scrapy_dedup.core.urls.normal_form import UrlRules, page_key
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains import lists as domain_lists
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.lists import PageContent
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.writer import ProjectStore

# More pages of a domain tell nothing that these do not; they are spread evenly over it.
_PAGES: Final = 1_000
_TWINS_AT_ONCE: Final = 50


class Twins(Struct, frozen=True):
    """Two registered names, with and without `www.`.

    Attributes:
        name: that stands for both, or would.
        other: its twin.
        pages: pages that are stored of both, by name.
        was_joined: they counted as one before.
    """

    name: str
    other: str
    evidence: TwinEvidence
    verdict: TwinVerdict
    pages: dict[str, int]
    was_joined: bool

    @property
    def reason(self) -> TwinReason:
        """Why they are one, or two."""
        return self.verdict.reason

    @property
    def is_joined(self) -> bool:
        """Whether they count as one now."""
        return self.verdict.is_one


def settle_twins(
    project: ProjectStore, names: Collection[str] | None, settings: Settings, at: datetime | None
) -> list[Twins]:
    """Join those of the domains and their twins whose pages agree, and part those whose pages differ; return all.

    They are compared without a lock, and written some at a time. The same again changes nothing.

    *names* None: all that have a twin; *at* None: nothing is written.

    Raises:
        StoreError: the store failed; pairs that were settled before it did are.
    """
    with project.transaction() as connection:
        pairs = _pairs(connection, project.id, names)
        found = [_compared(connection, project.id, pair, settings) for pair in pairs]
    if at is None:
        return found
    for start in range(0, len(found), _TWINS_AT_ONCE):
        with project.transaction(write=True) as connection:
            _settle(connection, project.id, found[start : start + _TWINS_AT_ONCE], at)
    return found


def _pairs(
    connection: Connection, project_id: uuid.UUID, names: Collection[str] | None
) -> list[tuple[StoredDomain, StoredDomain]]:
    """Return pairs of rows, the bare name first, in the order of names."""
    rows = (
        domains.find(connection, project_id, names) if names is not None else domains.with_twin(connection, project_id)
    )
    rows |= domains.find(connection, project_id, {row.twin for row in rows.values() if row.twin} - rows.keys())
    bare = sorted({bare_name(name) for name, row in rows.items() if row.twin in rows})
    return [(rows[name], rows[rows[name].twin or ""]) for name in bare]


def _compared(
    connection: Connection, project_id: uuid.UUID, pair: tuple[StoredDomain, StoredDomain], settings: Settings
) -> Twins:
    bare, www = (row.domain_name for row in pair)
    urls = [url for name in (bare, www) for url in domain_lists.some_pages(connection, project_id, name, _PAGES)]
    evidence = _evidence(connection, project_id, urls, (bare, www), url_rules(settings))
    verdict = judge_twins(evidence, settings.domain_join_pages)
    pages = domain_lists.count_pages(connection, project_id, (bare, www))
    name = standing_for_both(pages)
    return Twins(
        name,
        www if name == bare else bare,
        evidence,
        verdict,
        pages,
        was_joined=any(row.joined_to is not None for row in pair),
    )


def _evidence(
    connection: Connection, project_id: uuid.UUID, urls: Iterable[str], names: tuple[str, str], rules: UrlRules
) -> TwinEvidence:
    bare, www = names
    # By path and query, so that a page is compared once: the keys that it may have on either name.
    addresses: dict[str, tuple[tuple[bytes, ...], tuple[bytes, ...]]] = {}
    for url in urls:
        rest = _after_host(url)
        addresses[rest] = (_keys(bare, rest, rules), _keys(www, rest, rules))
    keys = {key for sides in addresses.values() for side in sides for key in side}
    contents = domain_lists.contents_of(connection, project_id, keys)
    answers = [_alike(*sides, contents) for _, sides in sorted(addresses.items())]
    return TwinEvidence(sum(answer is True for answer in answers), sum(answer is False for answer in answers))


def _after_host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _keys(host: str, rest: str, rules: UrlRules) -> tuple[bytes, ...]:
    return tuple(page_key(f"{scheme}://{host}{rest}", rules) for scheme in ("https", "http"))


def _alike(one: tuple[bytes, ...], other: tuple[bytes, ...], contents: dict[bytes, PageContent]) -> bool | None:
    """Return whether the pages at one address of both names say the same; None: that is not known."""
    pairs = [(key, twin_key) for key in one for twin_key in other if key in contents and twin_key in contents]
    answers = [_same(key, contents[key], twin_key, contents[twin_key]) for key, twin_key in pairs]
    known = [answer for answer in answers if answer is not None]
    return any(known) if known else None


def _same(key: bytes, page: PageContent, twin_key: bytes, twin: PageContent) -> bool | None:
    # An alias, a redirect or a duplicate of its twin. One that both are of a third page says nothing: that is what
    # sites do whose every address leads to one form.
    if page.document_key == twin.document_key and page.document_key in {key, twin_key}:
        return True
    if page.cleaned_hash and twin.cleaned_hash:
        return page.cleaned_hash == twin.cleaned_hash
    if page.content_hash and twin.content_hash and page.content_hash == twin.content_hash:
        return True
    return None


def _settle(connection: Connection, project_id: uuid.UUID, found: Collection[Twins], at: datetime) -> None:
    """Write what the pairs are; both are read again, since people may have decided something meanwhile."""
    rows = domains.find(connection, project_id, {name for each in found for name in (each.name, each.other)})
    for each in found:
        name, other = rows.get(each.name), rows.get(each.other)
        if name is None or other is None:
            continue
        told = {"pages_alike": each.evidence.alike, "pages_unlike": each.evidence.unlike}
        joins = {name.domain_id: None, other.domain_id: each.name if each.is_joined else None}
        if (name.joined_to, other.joined_to) != (None, joins[other.domain_id]) and each.is_joined:
            _unite(connection, name, other, at)
        domains.change(connection, {key: {**told, "joined_to": to} for key, to in joins.items()}, at)


def _unite(connection: Connection, name: StoredDomain, other: StoredDomain, at: datetime) -> None:
    """Let one stand for both: what is decided about either, and the candidates of both, which leave the other."""
    standing = of_pair(name.standing, other.standing)
    domains.set_standings(connection, [name, other], [standing, standing], at)
    both = (name, other)
    high, low = ([getattr(row, f"{kind}_quality_candidate_count") for row in both] for kind in ("high", "low"))
    best = [row.best_confidence_score for row in both if row.best_confidence_score is not None]
    weights = [(row.mean_confidence_score, here + there) for row, here, there in zip(both, high, low, strict=True)]
    weighed = [(mean, items) for mean, items in weights if mean is not None and items]
    items = sum(number for _, number in weighed)
    mean = sum(mean * number for mean, number in weighed) / items if items else None
    domains.change(
        connection,
        {
            name.domain_id: _counts(sum(high), sum(low), max(best, default=None), mean),
            other.domain_id: _counts(0, 0, None, None),
        },
        at,
    )


def _counts(high: int, low: int, best: float | None, mean: float | None) -> dict[str, Any]:
    return {
        "high_quality_candidate_count": high,
        "low_quality_candidate_count": low,
        "best_confidence_score": best,
        "mean_confidence_score": mean,
    }
