"""What every benchmark writes beside its figures: machine, versions, date and command."""

import json
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("scrapy-dedup", "scrapy", "sqlalchemy", "selectolax", "html-to-markdown")


def write(path: Path | None, figures: dict[str, Any]) -> None:
    """Write figures as JSON, with where they come from; nothing without a path."""
    if path is None:
        return
    result = {
        # Names of folders and files only: where they lie is nobody else's business.
        "command": " ".join(["python -m", _module(), *(Path(argument).name for argument in sys.argv[1:])]),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "processor": platform.machine()},
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "figures": figures,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def _module() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec is not None else "?"


def spread(values: Sequence[float]) -> str:
    """Return median and range of some values."""
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
