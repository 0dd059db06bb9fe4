"""What the description says holds for every operation, whatever is sent."""

import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection, positive_data_acceptance

from scrapy_dedup.core.addresses import hosts_of
from scrapy_dedup.service.jobs import Jobs
from scrapy_dedup.settings import Settings
from scrapy_dedup.web.app import make_app
from scrapy_dedup.web.openapi import rest_description
from scrapy_dedup.web.security import Access
from scrapy_dedup.web.server import Server
from tests.commands.running import PROJECT, Shop
from tests.commands.verbs.test_serve import serving_in
from tests.service.stored_pages import DOMAIN
from tests.web.served import BEARER, PORT, SETTINGS, TOKEN

EXAMPLES = 8
# Whether what is asked for exists, or is a selector, no description says; test_security has all of the third.
EXCLUDED = [positive_data_acceptance, negative_data_rejection, ignored_auth]
OPERATIONS = 40
"""So many at least; a router that is forgotten is noticed."""


@pytest.fixture(scope="module")
def description(reader) -> dict[str, Any]:
    found: dict[str, Any] = reader.get("/api/v1/openapi.json").json()
    return found


def _operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            yield f"{method.upper()} {path}", operation


def _resolved(description: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in found:
        return found
    place: Any = description
    for part in found["$ref"].removeprefix("#/").split("/"):
        place = place[part]
    assert isinstance(place, dict)
    return place


def test_the_description_is_openapi_3_1(description):
    assert description["openapi"].startswith("3.1")
    assert len(list(_operations(description))) >= OPERATIONS
    assert description["security"] == [{"token": []}]
    assert description == rest_description()


def test_every_operation_is_named_tagged_and_told(description):
    operations = dict(_operations(description))
    names = [one["operationId"] for one in operations.values()]

    assert len(set(names)) == len(names)
    for path, one in operations.items():
        assert one["tags"], path
        assert one["summary"].endswith("."), path
        for parameter in one.get("parameters", ()):
            assert parameter["description"], (path, parameter["name"])
            assert "example" in parameter or "examples" in parameter["schema"], (path, parameter["name"])


def test_every_body_and_answer_has_an_example_that_fits(description):
    checked = 0
    for path, operation in _operations(description):
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for one in [*bodies, *operation["responses"].values()]:
            for kind, content in _resolved(description, one).get("content", {}).items():
                if kind == "image/png":
                    continue
                schema = {**content["schema"], "components": description["components"]}
                jsonschema.validate(content["example"], schema, cls=jsonschema.Draft202012Validator)
                checked += 1
        assert checked, path
    assert checked > 10 * OPERATIONS


def test_every_operation_says_how_it_refuses(description):
    for path, operation in _operations(description):
        refusals = {status for status in operation["responses"] if status >= "400"}
        assert {"400", "401", "403", "404", "413", "421", "422", "429", "503"} <= refusals, path
        for status in refusals:
            content = _resolved(description, operation["responses"][status])["content"]
            assert list(content) == ["application/problem+json"], path


@pytest.fixture(scope="module")
def app(filled_shop, tmp_path_factory) -> Iterator[Any]:
    """The application over a copy of the store, which requests of all kinds change."""
    folder = tmp_path_factory.mktemp("schema")
    shutil.copytree(filled_shop.folder, folder, dirs_exist_ok=True)
    with Shop(Path(folder)).open() as store, closing(Jobs(most_waiting=3)) as jobs:
        server = Server(store, Settings.read(SETTINGS), PROJECT, jobs, folder=folder)
        yield make_app(server, Access(TOKEN, hosts_of("127.0.0.1", PORT, ()), requests_a_minute=1_000_000))


def test_a_body_that_is_no_text_is_refused_as_the_description_says(reader, description):
    kind = {"Content-Type": "application/json"}
    answer = reader.post(f"/api/v1/projects/{PROJECT}/blacklist", content=b"L\xff", headers=kind)
    told = description["paths"]["/api/v1/projects/{project}/blacklist"]["post"]["responses"]

    assert str(answer.status_code) in told


HEADERS = BEARER | {"Host": f"127.0.0.1:{PORT}"}
NAMED = {"project": PROJECT, "domain": DOMAIN, "layout": "rest"}
# Of these two each call begins a command, which takes seconds.
COMMANDS = {"refine", "learn"}


@pytest.fixture(scope="module")
def described(app) -> Any:
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=HEADERS)


def _labels() -> list[str]:
    return [label for label, one in _operations(rest_description()) if one["operationId"] not in COMMANDS]


@pytest.mark.parametrize("label", _labels())
def test_no_request_breaks_what_the_description_says(described, label):
    """Of two requests one is about what there is; the others about what Hypothesis makes up."""
    method, path = label.split(" ")
    operation = described[path][method]

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        deadline=None,
    )
    @given(case=operation.as_strategy(), about_what_there_is=st.booleans())
    def ask(case: schemathesis.Case[Any], about_what_there_is: bool) -> None:  # noqa: FBT001
        if operation.definition.raw["operationId"] == "delete_project":
            case.query = (case.query or {}) | {"dry_run": "true"}
        if about_what_there_is:
            case.path_parameters = {name: NAMED.get(name, one) for name, one in (case.path_parameters or {}).items()}
        response = case.call(headers=HEADERS)

        assert response.status_code < 500 or response.status_code == 503, response.text
        case.validate_response(response, excluded_checks=EXCLUDED)

    ask()


PAGE = Path(__file__).parents[2] / "docs" / "rest.md"


def test_the_table_is_that_of_the_routes():
    page, made = PAGE.read_text(encoding="utf-8"), runpy.run_path(str(PAGE.with_name("rest_table.py")))

    assert made["with_table"](page, rest_description()) == page, "run `make docs`"


def test_the_examples_run(served, tmp_path):
    """The fixture left its store in the folder."""
    (example,) = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shop = Shop(tmp_path)
    with serving_in(tmp_path, *shop.settings) as (_, printed):
        environment = {"API_URL": printed["api"].removesuffix("/api/v1/"), "TOKEN": printed["token"]}
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", example],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert '"state":"waiting"' in ran.stdout
    assert '"blacklist_reason":"spam"' in ran.stdout
