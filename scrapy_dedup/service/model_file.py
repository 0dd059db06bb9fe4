"""The trained model, read once a process."""

import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from scrapy_dedup.core.verdict_model import ModelError, VerdictModel

_NAME: Final = "verdict_model.json"


@cache
def verdict_model() -> VerdictModel:
    """Return the model that says what is content.

    Raises:
        ModelError: its file is missing, damaged or of another version; the message says what to do.
    """
    return read_model(files("scrapy_dedup.service").joinpath(_NAME))


def read_model(file: Traversable | Path) -> VerdictModel:
    """Return the model in a file.

    Raises:
        ModelError: it is missing, damaged or of another version.
    """
    try:
        stored = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(
            f"the model of what is content cannot be read ({error}): install scrapy_dedup again, or make one with "
            "`python -m benchmarks.train`"
        ) from error
    return VerdictModel.from_json(stored)
