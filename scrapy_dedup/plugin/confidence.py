"""How good an item is, by its own word or a function's (DEDUP_CONFIDENCE_FIELD, DEDUP_CONFIDENCE_FUNCTION)."""

import logging
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

from itemadapter import ItemAdapter

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.settings import Settings

logger = logging.getLogger(__name__)


class ConfidenceError(DedupError):
    """DEDUP_CONFIDENCE_FUNCTION names nothing that could be called."""


class Confidences:
    """Reads items. Whatever an item, or the function, gives instead of a number is counted, and warned of once."""

    def __init__(self, settings: Settings, count: Callable[[str, int], None]) -> None:
        """Load the function; raises ConfidenceError."""
        self._field = settings.confidence_field
        self._function = _loaded(settings.confidence_function) if settings.confidence_function else None
        self._count = count
        self._told = False

    def of(self, item: Any) -> float | None:
        """Return how good an item is, 0.0 to 1.0; None where nobody says so."""
        try:
            said = self._said(item)
            confidence = _number(said) if said is not None else None
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises: the item is none the worse
            self._refuse(f"{type(error).__name__}: {error}")
            return None
        if said is not None and confidence is None:
            self._refuse(repr(said)[:100])
        return confidence

    def _said(self, item: Any) -> Any:
        if self._function is not None:
            return self._function(item)
        if not self._field or not ItemAdapter.is_item(item):
            return None
        said = ItemAdapter(item).get(self._field)
        return None if said == "" else said

    def _refuse(self, what: str) -> None:
        self._count("domain/confidence_errors", 1)
        if not self._told:
            self._told = True
            source = "DEDUP_CONFIDENCE_FUNCTION" if self._function is not None else f"The item field {self._field!r}"
            logger.warning("%s needs to give a number from 0.0 to 1.0, or None; it gave %s", source, what[:300])


def _number(said: Any) -> float | None:
    """Return a confidence, also one that is written as text; None where it is none."""
    if isinstance(said, bool):
        return None
    number = float(said)
    return number if math.isfinite(number) and 0 <= number <= 1 else None


def _loaded(path: str) -> Callable[[Any], Any]:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise ConfidenceError(
            f"DEDUP_CONFIDENCE_FUNCTION={path!r}: cannot be imported ({error}); it needs the import path of a function,"
            " such as 'project.quality.confidence_of'"
        ) from error
    if not callable(found):
        raise ConfidenceError(f"DEDUP_CONFIDENCE_FUNCTION={path!r}: is no function")
    return found  # type: ignore[no-any-return]
