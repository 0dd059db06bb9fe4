"""The description of REST, OpenAPI 3.1, made from the routes, with examples."""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Annotated, Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field

from scrapy_dedup.web.api import router
from scrapy_dedup.web.problems import PROBLEM, Problem

_REFUSALS: Final = {
    400: "The body is no text, or ended early.",
    401: "The token is missing, or is another one.",
    403: "The request comes from a page of another origin, or a form without its token.",
    404: "There is no such thing.",
    408: "The body came too slowly.",
    409: "What is stored does not allow it.",
    413: "The body is too large.",
    421: "The server is not called by this name.",
    422: "A parameter or the body is not what it has to be.",
    429: "Too many requests, or jobs that wait; `Retry-After` tells how long to wait.",
    503: "The store is busy, or cannot be read.",
}
_DEPTH: Final = 12
_PLAIN: Final[dict[str, Any]] = {
    "string": "text",
    "integer": 1,
    "number": 0.5,
    "boolean": False,
    "object": {},
    "array": [],
}


class ProblemAnswer(BaseModel):
    """Why there is no answer (RFC 9457)."""

    model_config = ConfigDict(extra="allow", title="Problem")

    type: Annotated[str, Field(examples=["about:blank"])]
    title: Annotated[str, Field(examples=["Not Found"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["there is no project 'shoop' in the store"])]


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return what makes the description, once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _made(app)
        return app.openapi_schema

    return openapi


def rest_description() -> dict[str, Any]:
    """Return the description of REST; its routes need no store for it."""
    app = FastAPI()
    app.include_router(router)
    return describe(app)()


def _made(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title="scrapy-dedup",
        version=version("scrapy-dedup"),
        openapi_version="3.1.0",
        description="What crawls have stored: figures, pages, domains, and what is decided about them.",
        routes=app.routes,
    )
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = ProblemAnswer.model_json_schema()
    components["responses"] = {_name(status): _refusal(status, meaning) for status, meaning in _REFUSALS.items()}
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}]
    for operation in _operations(found):
        for status in _REFUSALS:
            operation["responses"][str(status)] = {"$ref": f"#/components/responses/{_name(status)}"}
        _add_examples(operation, schemas)
        # FastAPI makes the summary of the function's name.
        operation["summary"] = operation.pop("description").strip().split("\n", 1)[0]
    return found


def _operations(description: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in description["paths"].values():
        yield from path.values()


def _name(status: int) -> str:
    return Problem(status, "").title.replace(" ", "")


def _refusal(status: int, meaning: str) -> dict[str, Any]:
    title = Problem(status, "").title
    example = {"type": "about:blank", "title": title, "status": status, "detail": meaning}
    return {
        "description": meaning,
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}},
    }


def _add_examples(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
    for content in (one for body in bodies for one in body.get("content", {}).values()):
        if "schema" in content and "contentMediaType" not in content["schema"]:
            content["example"] = example_of(content["schema"], schemas)


def example_of(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 0) -> Any:
    """Return a value that fits a schema, from the examples that its parts have."""
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas, depth + 1)
    for name in ("examples", "enum", "anyOf"):
        if name in schema:
            first = schema[name][0]
            return example_of(first, schemas, depth + 1) if name == "anyOf" else first
    if "properties" in schema:
        return {name: example_of(one, schemas, depth + 1) for name, one in schema["properties"].items()}
    if schema.get("type") == "array" and depth < _DEPTH:
        return [example_of(schema.get("items", {}), schemas, depth + 1)]
    return schema.get("const", _PLAIN.get(schema.get("type", "")))
