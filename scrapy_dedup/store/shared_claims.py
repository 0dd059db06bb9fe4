"""The claims of a shared run, as a worker asks for them."""

import uuid
from collections.abc import Collection
from typing import Final

from scrapy_dedup.store import claims
from scrapy_dedup.store.claim_records import Claimant, ClaimKey, Holder, LeftPage, Wanted
from scrapy_dedup.store.domain_runs import CrawledDomains

# A row that another worker releases between our two statements is gone when we read it.
_MOST_ROUNDS: Final = 3
_FORGOTTEN_AT_ONCE: Final = 5_000


class SharedClaims(CrawledDomains):
    """The part of `ProjectStore` by which the workers of a shared run claim pages and texts."""

    @property
    def claimant(self) -> Claimant | None:
        """Who claims here; None in a run that is not shared."""
        if self.run is None or self.run.worker is None:
            return None
        return Claimant(self.id, self.run.id, self.run.worker)

    def claim(self, claimant: Claimant, wanted: Collection[Wanted]) -> dict[ClaimKey, Holder]:
        """Claim things, in a transaction of its own; return who has each of them now.

        A thing is left out of the answer if others claimed and released it all the while.
        """
        found: dict[ClaimKey, Holder] = {}
        for _ in range(_MOST_ROUNDS):
            missing = [one for one in wanted if one.claim_key not in found]
            if not missing:
                break
            # Each round in a transaction of its own: a second one would take its locks out of order.
            with self._database.transaction(write=True) as connection:
                found |= claims.claim(connection, claimant, missing)
        return found

    def holders(self, claimant: Claimant, keys: Collection[ClaimKey]) -> dict[ClaimKey, Holder]:
        """Return who has each of some things, of those that somebody living has or that are done."""
        with self._database.transaction() as connection:
            return claims.holders(connection, claimant, keys)

    def rest_claims(self, claimant: Claimant) -> None:
        """Note that a worker has nothing under way."""
        with self._database.transaction(write=True) as connection:
            claims.rest(connection, claimant)

    def left_by_the_dead(self, claimant: Claimant, limit: int) -> list[LeftPage]:
        """Take over pages that dead workers did not complete, so many at most; return them."""
        with self._database.transaction(write=True) as connection:
            return claims.left_by_the_dead(connection, claimant, limit)

    def under_way_elsewhere(self, claimant: Claimant) -> bool:
        """Return whether others have pages under way, or had when they died."""
        with self._database.transaction() as connection:
            return claims.under_way_elsewhere(connection, claimant)

    def forget_claims(self, run_id: uuid.UUID) -> int:
        """Delete the claims of a run that is over, in parts; return how many they were."""
        forgotten = 0
        while True:
            with self._database.transaction(write=True) as connection:
                some = claims.forget(connection, run_id, _FORGOTTEN_AT_ONCE)
            forgotten += some
            if some < _FORGOTTEN_AT_ONCE:
                return forgotten
