"""The table of operations in docs/rest.md."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scrapy_dedup.web.api.asked import PREFIX
from scrapy_dedup.web.app import rest_description

_BEGINS: Final = "<!-- operations: written by `make docs` -->\n"
_ENDS: Final = "<!-- end of operations -->\n"
_METHODS: Final = ("get", "post", "put", "delete")


def page_with_table(page: str, description: dict[str, Any]) -> str:
    """Return docs/rest.md with the table as the description has it."""
    before, rest = page.split(_BEGINS)
    after = rest.split(_ENDS)[1]
    return "".join([before, _BEGINS, *(f"{line}\n" for line in _lines(description)), _ENDS, after])


def _lines(description: dict[str, Any]) -> Iterator[str]:
    yield from ("", "| operation | what it does | parameters | body |", "| --- | --- | --- | --- |")
    for path, operations in description["paths"].items():
        for method in _METHODS:
            if method in operations:
                yield _line(f"{method.upper()} {path.removeprefix(PREFIX)}", operations[method])
    yield ""


def _line(name: str, operation: dict[str, Any]) -> str:
    parameters = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    bodies = [one["$ref"].rsplit("/", 1)[-1] for one in schema.get("anyOf", [schema]) if "$ref" in one]
    shown = ", ".join(f"`{one}`" for one in parameters)
    cells = (f"`{name}`", operation["summary"].replace("|", "\\|"), shown, ", ".join(f"`{one}`" for one in bodies))
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(page_with_table(file.read_text(encoding="utf-8"), rest_description()), encoding="utf-8")
