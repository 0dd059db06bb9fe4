"""Long work by REST: a job, its progress, its end."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.commands.running import PROJECT
from tests.web.served import Served

API = f"/api/v1/projects/{PROJECT}"


def _ended(served: Served, client: TestClient, answer: Any) -> Any:
    assert answer.status_code == 202, answer.text
    # Jobs run one after the other: once the line is closed, all have ended.
    job_id = answer.json()["id"]
    while (job := client.get(answer.headers["location"]).json())["state"] in ("waiting", "running"):
        entry = next(entry for key, entry in served.server.jobs._entries.items() if str(key) == job_id)
        entry.future.result(60)
    return job


def test_an_analysis_that_is_asked_for_as_a_job_says_the_same(served):
    client = served.client()
    at_once = client.post(f"{API}/analyze-boilerplate?dry_run=true").json()
    job = _ended(
        served,
        client,
        client.post(f"{API}/analyze-boilerplate?dry_run=true", headers={"Prefer": "respond-async, wait=1"}),
    )

    assert (job["kind"], job["state"], job["error"]) == ("analyze-boilerplate", "done", None)
    assert job["result"] == at_once
    assert job["done"] == job["total"] == 2 * sum(one["pages_analyzed"] for one in at_once["domain_results"])


def test_the_cache_is_verified(served):
    client = served.client()
    job = _ended(served, client, client.post(f"{API}/cache/verify", json={}))

    assert job["result"] == served.shop.run("store", "cache", "verify", "--json").json


@pytest.mark.crawl
def test_refine_is_the_command(served):
    client = served.client()
    body = {"dry_run": True, "domains": ["other.example"]}
    job = _ended(served, client, client.post(f"{API}/refine", json=body))
    told = served.shop.run("templates", "refine", "--dry-run", "--domain", "other.example", "--json").json

    assert (job["state"], job["error"]) == ("done", None)
    assert job["result"] == told | {"exit_code": 0}


@pytest.mark.crawl
def test_a_command_that_fails_is_a_job_that_failed(served):
    client = served.client()
    job = _ended(served, client, client.post(f"{API}/learn", json={"target": "nowhere.example", "dry_run": True}))

    assert job["state"] == "failed"
    assert "no pages of 'nowhere.example'" in job["error"]


@pytest.mark.parametrize("target", ["--all", "-x", "a\x00b", "\u202ea", ""])
def test_no_option_is_smuggled_into_a_command(served, target):
    assert served.client().post(f"{API}/learn", json={"target": target}).status_code == 422


@pytest.mark.parametrize("name", ["\x00", "\u202ea", "a b"])
def test_what_is_no_domain_is_not_refined(served, name):
    assert served.client().post(f"{API}/refine", json={"domains": [name]}).status_code == 422


def test_jobs_are_listed_and_belong_to_their_project(served):
    client = served.client()
    started = client.post(f"{API}/cache/verify", json={})
    job = _ended(served, client, started)
    other = served.store.project("other").name

    assert client.get(f"{API}/jobs").json()["jobs"] == [job]
    assert client.delete(started.headers["location"]).json() == job
    assert client.get(f"/api/v1/projects/{other}/jobs").json()["jobs"] == []
    assert client.get(f"/api/v1/projects/{other}/jobs/{job['id']}").status_code == 404
