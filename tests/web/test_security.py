"""Nothing is answered to whom it is not for, by any route: each test walks all of them."""

import json
import logging
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from starlette.routing import Mount
from starlette.testclient import TestClient

from scrapy_dedup.core.addresses import hosts_of
from scrapy_dedup.web.app import make_app
from scrapy_dedup.web.security import PUBLIC, SESSION_SECONDS, Access, AccessGate, Rate, Sessions, own_path
from tests.commands.running import PROJECT
from tests.service.stored_pages import DOMAIN
from tests.tables import table
from tests.web.served import BEARER, COOKIE, HOST, ORIGIN, PORT, TOKEN

UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
UUID = "4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"
VALUES = {"project": PROJECT, "project_id": PROJECT, "domain": DOMAIN, "layout": "rest", "run": UUID, "job": UUID}
NO_TOKEN: dict[str, str] = {}


def _routes(client: TestClient) -> Iterator[tuple[str, str]]:
    """Iterate over (method, path) of all that is served, but for the one file that anybody may have."""
    yield from (one for one in _of(client.app.routes) if one[1] not in PUBLIC)  # type: ignore[attr-defined]
    yield from [("GET", "/static/dashboard.js"), ("GET", "/static/../app.py"), ("GET", "/nothing"), ("POST", "/logout")]


def _of(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Mount):
            continue
        effective = getattr(route, "effective_candidates", None)
        if effective is not None:
            yield from _of(route.effective_candidates())
            continue
        path = re.sub(r"{(\w+)(?::\w+)?}", lambda found: VALUES.get(found[1], UUID), route.path)
        yield from ((method, path) for method in sorted(route.methods))


def _login(client: TestClient) -> None:
    assert client.get(f"/login?token={TOKEN}").status_code == 303


def test_only_the_style_is_given_to_anybody(served):
    assert {"/static/dashboard.css"} == PUBLIC
    assert served.client(headers=NO_TOKEN).get("/static/dashboard.css").headers["content-type"].startswith("text/css")


def test_no_route_answers_without_the_token(served):
    client = served.client(headers=NO_TOKEN)
    walked = list(_routes(client))

    assert len(walked) > 40
    assert ("PUT", f"/api/v1/projects/{PROJECT}/domains/{DOMAIN}/config") in walked
    assert {path.split("/")[1] for _, path in walked} >= {"", "api", "p", "static"}
    for method, path in walked:
        answer = client.request(method, path)

        assert answer.status_code == 401, (method, path)
        is_problem = answer.headers["content-type"] == "application/problem+json"
        assert is_problem is path.startswith("/api/"), path
        assert is_problem or method == "HEAD" or "<form" in answer.text


@table("web/wrong_tokens")
def test_no_route_answers_to_a_wrong_token(served, given):
    client = served.client(headers=NO_TOKEN)
    headers = [(name.encode(), value.encode("latin-1")) for name, value in given.items()]
    for method, path in list(_routes(client))[::7]:
        assert client.request(method, path, headers=headers).status_code == 401, (method, path)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1.evil.example:{PORT}",
        f"evil@127.0.0.1:{PORT}",
        "",
        "[::1]",
    ],
)
def test_no_route_answers_to_a_foreign_name(reader, host):
    for method, path in list(_routes(reader)) if host == "evil.example" else [("GET", "/"), ("GET", "/login")]:
        assert reader.request(method, path, headers={"Host": host}).status_code == 421, (method, path)


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_the_names_of_this_machine_are_served(reader, host):
    answer = reader.get("/api/v1/projects", headers={"Host": host, "Origin": f"http://{host}"})

    assert answer.status_code == 200


@table("web/foreign_origins")
def test_no_route_answers_to_a_foreign_origin(served, headers):
    client = served.client()
    _login(client)
    for method, path in [*list(_routes(client)), ("POST", "/login")]:
        assert client.request(method, path, headers=headers).status_code == 403, (method, path)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_write_is_done_for_another_site(reader, site):
    for method, path in _routes(reader):
        if method in UNSAFE:
            assert reader.request(method, path, headers={"Sec-Fetch-Site": site}).status_code == 403, (method, path)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    ("mode", "dest", "status"),
    [("no-cors", "image", 403), ("no-cors", "script", 403), ("navigate", "iframe", 403), ("navigate", "document", 200)],
)
def test_another_site_may_link_to_a_page_and_no_more(reader, site, mode, dest, status):
    """Ports count as one site: SameSite keeps no cookie from a page that another program of this machine serves."""
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}

    assert reader.get("/api/v1/projects", headers=headers).status_code == status


def test_one_foreign_origin_among_several_is_enough(reader):
    headers = [("Origin", ORIGIN), ("Origin", "https://evil.example")]

    assert reader.get("/api/v1/projects", headers=headers).status_code == 403


@table("web/no_csrf_token")
def test_no_session_writes_without_its_csrf_token(served, sent):
    client = served.client(headers=NO_TOKEN)
    _login(client)
    for method, path in _routes(client):
        if method in UNSAFE:
            assert client.request(method, path, **sent).status_code == 403, (method, path)


@pytest.mark.parametrize("form", ["header", "urlencoded"])
def test_a_session_writes_with_its_csrf_token(served, form):
    client = served.client(headers=NO_TOKEN)
    _login(client)
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(f"/p/{served.project.id}/domains").text)
    ways: dict[str, Any] = {
        "header": {"headers": {"X-CSRF-Token": found[1]}},
        "urlencoded": {"data": {"csrf_token": found[1]}},
    }

    assert client.post("/logout", **ways[form]).status_code == 303
    assert client.get("/").status_code == 401


def test_the_token_in_the_address_becomes_a_cookie(served):
    client = served.client(headers=NO_TOKEN)
    answer = client.get(f"/login?token={TOKEN}&next=/p/x/domains%3Fsort%3Dpages")
    cookie = answer.headers["set-cookie"]

    assert (answer.status_code, answer.headers["location"]) == (303, "/p/x/domains?sort=pages")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    assert TOKEN not in answer.headers["location"]
    assert (answer.headers["referrer-policy"], answer.headers["cache-control"]) == ("no-referrer", "no-store")
    assert client.get("/api/v1/projects").status_code == 200


def test_the_token_can_be_entered(served):
    client = served.client(headers=NO_TOKEN)
    wrong = client.post("/login", data={"token": "wrong", "next": "/p/"})
    empty = client.post("/login", data={})
    right = client.post("/login", data={"token": f" {TOKEN} ", "next": "/p/"})

    assert (wrong.status_code, empty.status_code, right.status_code) == (401, 401, 303)
    assert 'role="alert"' in wrong.text
    assert 'value="/p/"' in wrong.text
    assert right.headers["location"] == "/p/"
    assert client.put("/login").status_code == 405


@table("web/led_nowhere")
def test_the_login_leads_nowhere_else(wanted):
    assert own_path(wanted) == own_path("/" + "x" * 3_000) == "/"


def test_a_session_ends(served):
    clock = [0.0]
    sessions = Sessions(lambda: clock[0])
    first = sessions.begin()
    clock[0] = SESSION_SECONDS - 1
    assert sessions.get(first.id) == first
    clock[0] = SESSION_SECONDS
    assert sessions.get(first.id) is None
    many = [sessions.begin() for _ in range(101)]
    assert [sessions.get(one.id) for one in many[:2]] == [None, many[1]]


@table("web/traversals")
def test_no_path_reads_a_file_or_fails(reader, path):
    answer = reader.get(path)

    assert answer.status_code in {303, 307, 404, 422, 400}, answer.text[:300]
    assert "root:" not in answer.text
    assert "def make_app" not in answer.text


@pytest.mark.parametrize("path", ["/" + "a" * 20_000, "/api/v1/projects/" + "%41" * 5_000], ids=["page", "project"])
def test_no_long_path_fails(reader, path):
    assert reader.get(path).status_code in {404, 422}


def test_every_answer_has_the_headers(served):
    client = served.client()
    for method, path in [*_routes(client), ("GET", "/login"), ("GET", "/static/dashboard.css")]:
        if method != "GET":
            continue
        headers = client.get(path).headers
        policy = headers["content-security-policy"]

        assert "unsafe" not in policy, path
        assert "script-src 'self'" in policy or "script-src" not in policy, path
        assert "default-src 'none'" in policy, path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] in {"same-origin", "no-referrer"}, path


def test_what_fails_inside_says_nothing_of_it(served, caplog):
    client = served.client()
    served.store.close()
    client.app.state.server = None
    answer = client.get("/api/v1/projects")

    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "Traceback" not in answer.text
    assert "content-security-policy" in answer.headers
    assert "GET /api/v1/projects" in caplog.text


def test_the_token_is_in_no_log(served, caplog):
    caplog.set_level(logging.DEBUG)
    client = served.client(headers=NO_TOKEN)
    client.get(f"/login?token={TOKEN}")
    client.get("/api/v1/projects?token=another-secret", headers=BEARER)
    client.post("/login", data={"token": "wrong-secret"})
    ours = "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("scrapy_dedup"))

    assert "GET /login 303" in ours
    assert "GET /api/v1/projects 200" in ours
    for secret in (TOKEN, "another-secret", "wrong-secret", client.cookies[COOKIE]):
        assert secret not in ours


def test_a_log_line_is_one_line(served, caplog):
    caplog.set_level(logging.INFO)
    served.client().get("/a%0d%0aGET%20/forged%20200%1b[2J%e2%80%ae")
    lines = [one.getMessage() for one in caplog.records if one.name.startswith("scrapy_dedup")]

    assert lines == ["GET /a%0D%0AGET%20/forged%20200%1B%5B2J%E2%80%AE 404"]


def test_who_asks_too_often_waits(served):
    client = served.client(requests_a_minute=3)
    answers = [client.get("/api/v1/projects") for _ in range(4)]

    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[3].headers["retry-after"]) <= 20
    session = served.client(headers=NO_TOKEN, requests_a_minute=3)
    _login(session)
    assert [session.get("/api/v1/projects").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert answers[3].headers["content-type"] == "application/problem+json"


def test_wrong_tokens_cost_more(served):
    client = served.client(headers=NO_TOKEN, requests_a_minute=100)
    answers = [client.get("/login?token=wrong").status_code for _ in range(20)]

    assert answers[:5] == [401] * 5
    assert answers[-1] == 429


def test_another_site_cannot_use_up_what_one_may_ask(served):
    """Its images are asked for by the same browser, from the same address."""
    client = served.client(requests_a_minute=100)
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    answers = {client.get(f"/login?token={number}", headers=image).status_code for number in range(200)}

    assert answers == {403}
    assert client.get("/api/v1/projects").status_code == 200


def test_who_guesses_tokens_keeps_no_session_out(served):
    client = served.client(headers=NO_TOKEN, requests_a_minute=100)
    _login(client)
    guesses = [client.get("/login?token=wrong", headers={"Cookie": ""}).status_code for _ in range(50)]

    assert guesses[-1] == 429
    assert client.get("/api/v1/projects").status_code == 200


def test_who_guesses_tokens_keeps_nobody_out_who_has_it(served):
    client = served.client(headers=NO_TOKEN, requests_a_minute=100)
    guesses = [client.get("/api/v1/projects", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(50)]

    assert (guesses[0], guesses[-1]) == (401, 429)
    assert client.get("/api/v1/projects", headers=BEARER).status_code == 200
    assert client.get(f"/login?token={TOKEN}").status_code == 303
    client.cookies.clear()
    assert client.post("/login", data={"token": "wrong"}).status_code == 429
    assert client.post("/login", data={"token": TOKEN}).status_code == 303


def test_a_bucket_fills_again():
    clock = [0.0]
    rate = Rate(60, lambda: clock[0])
    waits = [rate.take("a") for _ in range(62)]
    clock[0] = 2.0

    assert waits == [0] * 60 + [1, 1]
    assert (rate.take("b"), rate.take("a"), rate.take("a"), rate.take("a")) == (0, 0, 0, 1)


def test_buckets_are_bounded():
    rate = Rate(1, lambda: 0.0)
    for number in range(10_000):
        rate.take(str(number))

    assert len(rate._buckets) <= 4_096


def _parts(size: int) -> Iterator[bytes]:
    yield from (b"x" * 500 for _ in range(size // 500))


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
def test_a_body_that_is_too_large_is_not_read(served, declared):
    client = served.client(max_body_bytes=2_000)
    path = f"/api/v1/projects/{PROJECT}/domains"
    fits, large = ((b"x" * size if declared else _parts(size)) for size in (2_000, 2_500))

    assert client.post(path, content=fits).status_code == 422
    answer = client.post(path, content=large)
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")


@pytest.mark.parametrize("length", ["-1", "x", "9" * 30, "2001"])
def test_a_length_that_is_none_is_too_large(served, length):
    client = served.client(max_body_bytes=2_000)
    answer = client.post("/api/v1/projects", headers={"Content-Length": length}, content=b"")

    assert answer.status_code == 413


def test_the_page_that_asks_for_the_token_reads_little(served):
    client = served.client(headers=NO_TOKEN)

    assert client.post("/login", data={"token": "x" * 20_000}).status_code == 413


def test_without_the_token_no_body_is_read(served):
    read = []

    def body() -> Iterator[bytes]:
        for number in range(10):
            read.append(number)
            yield b"x" * 1_000

    client = served.client(headers=NO_TOKEN)
    assert client.post(f"/api/v1/projects/{PROJECT}/domains", content=body()).status_code == 401
    assert read == []


@pytest.mark.anyio
async def test_a_websocket_is_closed(served):
    sent: list[Any] = []
    gate = AccessGate(
        make_app(served.server, Access(TOKEN, hosts_of("127.0.0.1", PORT, ()))), Access(TOKEN, hosts_of("", 1, ()))
    )

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await gate({"type": "websocket"}, receive, send)

    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_problems_are_json_for_programs_and_pages_for_people(reader):
    page, problem = reader.get("/<script>alert(1)</script>"), reader.get("/api/<script>")

    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<script>alert" not in page.text
    assert json.loads(problem.text)["status"] == 404
