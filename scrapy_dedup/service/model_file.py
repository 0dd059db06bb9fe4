"""The trained model, read once a process."""

import json
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from scrapy_dedup.core.boilerplate.verdict_model import ModelError, VerdictModel

_NAME: Final = "verdict_model.json"


@cache
def verdict_model() -> VerdictModel:
    """Return the model that says what is content.

    Raises:
        ModelError: its file is missing, damaged or of another version; the message says what to do.
    """
    return read_model(files("scrapy_dedup.service").joinpath(_NAME))


@cache
def model_hash() -> str:
    """Return what stands for the file of the model that is read now, twelve hexadecimal digits; what it made says so.

    Raises:
        ModelError: it cannot be read.
    """
    return hash_of(files("scrapy_dedup.service").joinpath(_NAME))


def hash_of(file: Traversable | Path) -> str:
    """Return what stands for a model's file.

    Raises:
        ModelError: it cannot be read.
    """
    return blake2b(_text_of(file).encode(), digest_size=6).hexdigest()


def read_model(file: Traversable | Path) -> VerdictModel:
    """Return the model in a file.

    Raises:
        ModelError: it is missing, damaged or of another version.
    """
    try:
        stored = json.loads(_text_of(file))
    except (ValueError, RecursionError) as error:
        raise _unread(error) from error
    return VerdictModel.from_json(stored)


def _text_of(file: Traversable | Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise _unread(error) from error


def _unread(error: Exception) -> ModelError:
    return ModelError(
        f"the model of what is content cannot be read ({error}): install scrapy_dedup again, or make one with "
        "`python -m benchmarks.train`"
    )
