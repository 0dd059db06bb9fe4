import pytest

from scrapy_dedup.service.steps import Steps, at_once


def failing() -> int:
    raise ValueError("no")


def steps(*, catches: bool) -> Steps[list[int]]:
    found: list[int] = [(yield lambda: 1)]
    try:
        found.append((yield failing))
    except ValueError:
        if not catches:
            raise
        found.append((yield lambda: 2))
    return found


def test_steps_go_on_with_what_their_parts_return_or_raise() -> None:
    assert at_once(steps(catches=True)) == [1, 2]
    with pytest.raises(ValueError, match="no"):
        at_once(steps(catches=False))
