"""Ages as they are written on a command line."""

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import Final

_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def duration(text: str) -> timedelta:
    """Return the time that a text such as 30d means, for argparse."""
    found = _DURATION.fullmatch(text)
    try:
        if found:
            return timedelta(**{_UNITS[found[2]]: float(found[1])})
    except OverflowError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is no age: write a number and s, m, h, d or w, such as 30d")


def ago(age: timedelta) -> datetime:
    """Return the instant so long ago; the first there is where that is before all times."""
    try:
        return datetime.now(UTC) - age
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
