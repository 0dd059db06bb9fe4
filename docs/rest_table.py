"""The table of operations in docs/rest.md, made of the description of REST: `python docs/rest_table.py`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_PAGE: Final = Path(__file__).with_name("rest.md")
_BEGINS: Final = "<!-- operations: written by `make docs` -->\n"
_ENDS: Final = "<!-- end of operations -->\n"
_METHODS: Final = ("get", "post", "put", "delete")


def with_table(page: str, description: dict[str, Any]) -> str:
    """Return docs/rest.md with the table as the description of REST has it."""
    before, rest = page.split(_BEGINS)
    after = rest.split(_ENDS)[1]
    return "".join([before, _BEGINS, *(f"{line}\n" for line in _operations(description)), _ENDS, after])


def _operations(description: dict[str, Any]) -> Iterator[str]:
    yield from ("", "| operation | what it does | parameters | body |", "| --- | --- | --- | --- |")
    for path, operations in description["paths"].items():
        for method in _METHODS:
            if method in operations:
                yield _operation(f"{method.upper()} {path.removeprefix('/api/v1')}", operations[method])
    yield ""


def _operation(name: str, operation: dict[str, Any]) -> str:
    parameters = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    bodies = [one["$ref"].rsplit("/", 1)[-1] for one in schema.get("anyOf", [schema]) if "$ref" in one]
    shown = ", ".join(f"`{one}`" for one in parameters)
    cells = (f"`{name}`", operation["summary"].replace("|", "\\|"), shown, ", ".join(f"`{one}`" for one in bodies))
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


if __name__ == "__main__":
    from scrapy_dedup.web.openapi import rest_description

    _PAGE.write_text(with_table(_PAGE.read_text(encoding="utf-8"), rest_description()), encoding="utf-8")
