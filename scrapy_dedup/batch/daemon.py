"""The process that Spark forks its Python workers from: what all of them need is loaded here, and in memory once.

Spark starts it by its name, see `spark.python.daemon.module` in `scrapy_dedup.batch.session`.
"""

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from pyspark.daemon import manager

from scrapy_dedup.service.model_file import verdict_model

_NEEDED: Final = ("pyspark.worker", "scrapy_dedup.batch.steps")
# Arrow's Python loads it at its first array, if it is there: 70 MB would be 113, and nothing here uses it.
_NOT_NEEDED: Final = "pandas"


class _Without(MetaPathFinder):
    """Says of a module that is there that it is not."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse the one, and leave all others to the next finder."""
        if fullname == _NOT_NEEDED:
            raise ModuleNotFoundError(f"workers of scrapy_dedup do without {fullname}", name=fullname)
        return None


def load() -> None:
    """Load what workers run."""
    sys.meta_path.insert(0, _Without())
    for name in _NEEDED:
        import_module(name)
    verdict_model()


def main() -> None:
    """Load all, then fork a worker whenever Spark asks for one."""
    load()
    gc.collect()
    # A worker that looks for garbage among them would write into what it shares.
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
