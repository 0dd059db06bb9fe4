"""By which names, and from which pages, a server may be called."""

import pytest

from scrapy_dedup.core.hosts import hosts_of, is_loopback
from tests.tables import table


@pytest.mark.parametrize(
    ("host", "port", "allowed", "knows", "refuses"),
    [
        pytest.param("127.0.0.1", 8642, (), ["localhost:8642"], ["localhost", "127.0.0.1:80"], id="loopback"),
        pytest.param("0.0.0.0", 80, (), ["localhost", "127.0.0.1:80"], ["example.org"], id="port-80"),
        pytest.param("::1", 9, ("A.example",), ["[::1]:9", "a.example", "a.example:9"], ["a.example:1"], id="named"),
        pytest.param("10.0.0.5", 9, ("b.example:8",), ["10.0.0.5:9", "b.example:8"], ["b.example"], id="with-a-port"),
    ],
)
def test_hosts_are_those_of_the_address_and_those_allowed(
    host: str, port: int, allowed: tuple[str, ...], knows: list[str], refuses: list[str]
):
    hosts = hosts_of(host, port, allowed)

    assert all(map(hosts.knows, knows))
    assert not any(map(hosts.knows, refuses))


@table("core/loopback_is_known")
def test_loopback_is_known(host: str, *, wanted: bool):
    assert is_loopback(host) is wanted


@table("addresses/origins")
def test_pages_are_those_of_the_names(origin: str, *, wanted: bool):
    assert hosts_of("127.0.0.1", 9, ["A.example"]).sends(origin) is wanted
