"""What became of search results, as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from scrapy_dedup.core.candidates import CandidateOutcome
from scrapy_dedup.service.candidates import CandidateIntake, Judged


def candidates_answer(session: str, intake: CandidateIntake, urls: Sequence[Judged]) -> dict[str, Any]:
    """Return how many URLs had which outcome, in all and by engine, and what became of each of those that are given."""
    tally = intake.tally
    read = tally.outcomes.total()
    return {
        "session": {"name": session, "id": None if intake.session_id is None else str(intake.session_id)},
        "read": read,
        "outcomes": _outcomes(tally.outcomes),
        "engines": {engine: _outcomes(outcomes) for engine, outcomes in sorted(tally.engines.items())},
        "urls": [_judged(each) for each in urls],
        "urls_left_out": read - len(urls),
    }


def _outcomes(numbers: Mapping[CandidateOutcome, int]) -> dict[str, int]:
    return {outcome.value: numbers[outcome] for outcome in CandidateOutcome}


def _judged(each: Judged) -> dict[str, Any]:
    return {
        "where": each.where,
        "url": each.url,
        "engine": each.engine,
        "domain": each.domain,
        "outcome": each.outcome.value,
        "reason": each.reason,
    }
