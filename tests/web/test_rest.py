"""Each answer of REST is what the command says on the same store."""

import base64
import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.commands.running import PROJECT
from tests.service.stored_pages import DOMAIN, a_url
from tests.tables import table
from tests.web.served import PICTURE, Served

API = f"/api/v1/projects/{PROJECT}"
OTHER = "https://other.example/1"


def _told(served: Served, *words: str) -> Any:
    return served.shop.run(*words, "--json").json


def _but(answer: Any, *names: str) -> Any:
    return {name: value for name, value in answer.items() if name not in names}


@table("web/read_as_told")
def test_what_is_read_is_what_the_command_says(reader, filled_shop, path, words, only_here):
    if path.startswith("changes"):
        path += "&since=2026-01-01"
    answer = reader.get(f"{API}/{path}")

    assert answer.status_code == 200, answer.text
    assert _but(answer.json(), *only_here) == _but(filled_shop.run(*words, "--json").json, *only_here)


def test_a_project_is_named_by_its_uuid_too(served):
    client = served.client()
    by_name = client.get(API).json()

    assert client.get(f"/api/v1/projects/{by_name['id']}").json() == by_name
    assert by_name == _told(served, "store", "projects", "list")["projects"][0]


def test_an_analysis_is_the_command_s(served):
    options = ["--threshold-pct", "0.6", "--min-pages", "3", "--source-group", "tea", "--dry-run"]
    query = "threshold_pct=0.6&min_pages=3&source_groups=tea"
    unread = served.client().post(f"{API}/analyze-boilerplate", json={"dry_run": True})
    would = served.client().post(f"{API}/analyze-boilerplate?{query}&dry_run=true")
    told = _told(served, "templates", "analyze", *options)
    done = served.client().post(f"{API}/analyze-boilerplate?{query}")

    assert (unread.status_code, would.json()) == (422, told)
    assert _but(done.json(), "dry_run") == _but(told, "dry_run")
    assert [one["domain"] for one in done.json()["domain_results"]] == ["other.example"]
    stats = served.client().get(f"{API}/boilerplate-stats").json()
    assert stats["domains"] == _told(served, "report", "--domains")["learned"]


def test_a_run_is_named_by_its_id_how_that_begins_or_last(reader):
    (run,) = reader.get(f"{API}/runs?limit=1").json()["runs"]

    for name in (run["id"], run["id"][:8], "last"):
        assert reader.get(f"{API}/runs/{name}").json()["id"] == run["id"]


@pytest.mark.parametrize("groups", ["source_groups=coffee", "source_groups=tea&source_groups=coffee"])
def test_a_group_without_pages_is_an_error_as_in_the_command(reader, groups):
    """One of several, too: its name may be mistyped."""
    answer = reader.post(f"{API}/analyze-boilerplate?{groups}&dry_run=true")

    assert answer.status_code == 404, answer.text
    assert "keeps no pages of the group 'coffee'" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "key", "limit"),
    [
        pytest.param("changes?since=2026-01-01&", "changes", 2, id="changes"),
        pytest.param("pages?", "pages", 2, id="pages"),
        pytest.param("domains?", "domains", 2, id="domains"),
        # All that a domain has comes at once.
        pytest.param("layouts?", "domains", 1, id="layouts"),
        pytest.param("templates?", "templates", 1, id="templates"),
    ],
)
def test_parts_of_a_list_are_the_list(reader, path, key, limit):
    whole = reader.get(f"{API}/{path}limit=1000").json()[key]
    parts, after = [], ""
    while after is not None:
        part = reader.get(f"{API}/{path}limit={limit}{after}").json()
        parts.append(part[key])
        after = part["next"] and f"&after={part['next']}"

    assert [one for part in parts for one in part] == whole
    assert len(parts) > 1
    assert limit > 1 or [len({one["domain"] for one in part}) for part in parts] == [1] * len(parts)


def test_a_cursor_of_an_instant_that_utc_does_not_have_is_told(reader):
    plain = b'{"start": {"at": "0001-01-01T00:00:00+23:59"}, "counts": [1, 1, 1], "passed": 1}'
    cursor = base64.urlsafe_b64encode(plain).decode()

    assert reader.get(f"{API}/changes", params={"after": cursor}).status_code == 422


@pytest.mark.parametrize("key", ["changes", "pages", "domains", "pages/search?q=tea&"])
@pytest.mark.parametrize("cursor", ["x", "%00", "W10", "eyJhIjoxfQ", "____", "1" * 1_999, "WzEsMl0"])
def test_a_cursor_that_is_none_is_told(reader, key, cursor):
    answer = reader.get(f"{API}/{key}{'' if key.endswith('&') else '?'}after={cursor}")

    assert answer.status_code == 422


def test_domains_are_blacklisted_and_freed_in_bulk(served):
    client = served.client()
    body = {
        "domains": ["a.example", "*.example.com", "*.nowhere.example"],
        "reason": "spam",
        "by": "me",
        "expires_at": "2099-01-01T00:00:00Z",
    }

    client.post(f"{API}/domains", json={"domains": ["https://A.example/x", "b.example"]})
    for careless in (0, "no", None):
        assert client.post(f"{API}/blacklist", json=body | {"dry_run": careless}).status_code == 422
    would = client.post(f"{API}/blacklist", json=body | {"dry_run": True}).json()
    done = client.post(f"{API}/blacklist", json=body).json()
    listed = client.get(f"{API}/blacklist").json()
    first = client.get(f"{API}/blacklist?limit=1").json()
    rest = client.get(f"{API}/blacklist?after={first['next']}").json()
    freed = client.delete(f"{API}/blacklist?domain=a.example&domain=spam.*").json()

    names = [one["domain_name"] for one in done["domains"]]
    assert sorted(names) == sorted(one["domain_name"] for one in would["domains"]) == ["a.example", DOMAIN]
    assert {one["domain_name"] for one in listed["domains"]} == {*names, "spam.example"}
    assert (first["domains"] + rest["domains"], rest["next"]) == (listed["domains"], None)
    assert {one["blacklist_reason"] for one in done["domains"]} == {"spam"}
    assert done["unmatched"] == would["unmatched"] == ["*.nowhere.example"]
    assert [one["status"] for one in freed["domains"]] == ["DISCOVERED"] * 2
    assert client.delete(f"{API}/blacklist?domain=nowhere.example").status_code == 404
    assert client.get(f"{API}/domains/a.example").json() == _told(served, "domains", "show", "a.example")


def test_a_template_is_overridden_compared_and_rolled_back(served):
    client, path = served.client(), f"{API}/domains/{DOMAIN}/templates/rest"
    body = {"decisions": [{"action": "keep", "selector": "aside.bar"}]}
    before = client.get(path).json()["templates"][0]["version"]

    would = client.post(f"{path}/override", json=body | {"dry_run": True}).json()
    done = client.post(f"{path}/override", json=body).json()
    diff = client.get(f"{path}/diff?before={before}&after={done['version']}").json()
    back = client.post(f"{path}/rollback", json={"version": before}).json()

    assert (would["dry_run"], would["version"], done["version"]) == (True, None, before + 1)
    assert diff == _told(served, "templates", "diff", DOMAIN, "rest", str(before), str(before + 1))
    assert diff["decided"] == [{"action": "keep", "selector": "aside.bar"}]
    assert back["version"] == before
    assert client.get(path).json()["templates"][0]["version"] == before


def test_a_configuration_is_tried_before_it_is_stored(served):
    client, path = served.client(), f"{API}/domains/{DOMAIN}/config"
    body = {"pipeline": {"boilerplate_css_selectors": ["h1"]}}

    would = client.put(f"{path}?dry_run=true", json=body).json()
    before = client.get(path).json()["version"]
    done = client.put(path, json=body).json()

    assert (would["dry_run"], before, done["dry_run"]) == (True, 0, False)
    assert would["changes"][0]["trial"]["pages"] > 0
    assert (would["changes"][0]["version"], would["changes"][0]["stale"]) == (None, None)
    assert (done["changes"][0]["version"], done["changes"][0]["trial"]) == (1, None)
    body["pipeline"]["boilerplate_css_selectors"] = ["["]
    assert client.put(f"{path}?dry_run=true", json=body).status_code == 422


def test_the_cache_is_looked_after(served):
    client = served.client()
    assert client.post(f"{API}/cache/invalidate", json={"urls": [], "dry_run": True}).json()["extractions"] == 0
    for path, body, words in (
        ("invalidate", {"urls": [OTHER], "dry_run": True}, ["invalidate", OTHER, "--dry-run"]),
        ("invalidate", {"domain": "nope.example"}, ["invalidate", "--domain", "nope.example"]),
        ("invalidate", {"all": True}, ["invalidate", "--all"]),
        ("expire", {"before": "2026-03-01T12:00:00Z"}, ["expire", "--older-than", "3d"]),
        ("clean", {}, ["clean"]),
    ):
        assert client.post(f"{API}/cache/{path}", json=body).json() == _told(served, "store", "cache", *words)
    for wrong in ({"all": True, "domain": "x.example"}, {"domain": "a b"}):
        assert client.post(f"{API}/cache/invalidate", json=wrong).status_code == 422


def test_the_picture_of_a_layout_is_shown(reader):
    layouts = reader.get(f"{API}/layouts?domain={DOMAIN}").json()["domains"][0]["layouts"]
    answers = [reader.get(f"{API}/domains/{DOMAIN}/layouts/{one['layout']}/picture") for one in layouts]

    assert {one.status_code for one in answers} == {200, 404}
    shown = next(one for one in answers if one.status_code == 200)
    assert (shown.content, shown.headers["content-type"]) == (PICTURE, "image/png")


def test_a_project_is_deleted_with_all_its_rows(served):
    client = served.client()
    would, done = client.delete(f"{API}?dry_run=true").json(), client.delete(API).json()

    assert would | {"deleted": True} == done
    assert client.get(API).status_code == 404


@pytest.mark.parametrize("sent", [{}, {"data": {"domains": "a.example"}}, {"content": b'{"domains": ["a.example"]}'}])
def test_a_body_that_is_not_declared_as_json_is_told_so(reader, sent):
    """As `curl -d` declares it."""
    answer = reader.post(f"{API}/domains", **sent)

    assert answer.status_code == 422
    assert "with Content-Type: application/json" in answer.json()["detail"]


@table("web/errors_are_problems")
def test_an_error_is_a_problem(reader, method, path, status):
    answer = reader.request(method, path)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= set(answer.json())
    assert answer.json()["status"] == status


def test_a_misspelt_dry_run_deletes_nothing(served):
    answer = served.client().delete(f"/api/v1/projects/{PROJECT}?dryrun=true")

    assert (answer.status_code, answer.json()["detail"]) == (422, "'dryrun' is no parameter of this operation")
    assert served.client().get(f"/api/v1/projects/{PROJECT}").status_code == 200


def test_a_refused_method_is_told_which_are_answered(reader):
    assert reader.patch(f"/api/v1/projects/{PROJECT}/blacklist").headers["allow"] == "GET, HEAD, POST, DELETE"
    assert reader.put("/static/dashboard.css").headers["allow"] == "GET, HEAD"
    assert reader.post("/").headers["allow"] == "GET, HEAD"
    assert reader.head(f"{API}/cache/clean").headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/dashboard.css", API, f"{API}/pages?limit=2", f"{API}/nope"])
def test_what_can_be_read_can_be_asked_for_its_head(reader, path):
    whole, head = reader.get(path), reader.head(path)

    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers == whole.headers


def test_what_cannot_be_written_as_utf8_is_told_all_the_same(reader):
    body = b'{"domains": ["\\ud800"], "\\udfff": 1}'
    answer = reader.post(f"{API}/domains", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 422
    json.loads(answer.content.decode("ascii"))


def test_a_list_of_pages_is_searched(reader):
    found = reader.get(f"{API}/pages/search?q=evil&limit=2").json()

    assert len(found["pages"]) == 2
    assert {page["domain"] for page in found["pages"]} == {"other.example"}
    assert a_url("posts/hemp") in json.dumps(
        reader.get(f"{API}/pages?domain=https://{DOMAIN.upper()}/x&limit=1000").json()
    )


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


@pytest.mark.parametrize(
    ("path", "body"),
    [("learn", {"target": target}) for target in ("--all", "-x", "a\x00b", "\u202ea", "")]
    + [("refine", {"domains": [name]}) for name in ("\x00", "\u202ea", "a b")],
)
def test_what_is_no_domain_is_no_part_of_a_command(reader, path, body):
    """Least of all an option."""
    assert reader.post(f"{API}/{path}", json=body).status_code == 422


def test_jobs_are_listed_and_belong_to_their_project(served):
    client = served.client()
    started = client.post(f"{API}/cache/verify", json={})
    job = _ended(served, client, started)
    other = served.store.project("other").name

    assert client.get(f"{API}/jobs").json()["jobs"] == [job]
    assert client.delete(started.headers["location"]).json() == job
    assert client.get(f"/api/v1/projects/{other}/jobs").json()["jobs"] == []
    assert client.get(f"/api/v1/projects/{other}/jobs/{job['id']}").status_code == 404
