"""The published schema of the field `dedup`, and what breaks it."""

import json
from importlib.resources import files

from jsonschema import Draft202012Validator

SCHEMA = json.loads(files("scrapy_dedup").joinpath("dedup.schema.json").read_text("utf-8"))
Draft202012Validator.check_schema(SCHEMA)
_VALIDATOR = Draft202012Validator(SCHEMA)


def faults_of(report: object) -> list[str]:
    """Return what of a report is not as the schema says; an empty one is of an item that the add-on left alone."""
    return [f"{error.json_path}: {error.message}"[:300] for error in _VALIDATOR.iter_errors(report)]
