"""By which names, and from which pages, a server may be called."""

from scrapy_dedup.core.hosts import hosts_of, is_loopback
from tests.tables import table


@table("core/hosts_are_those_of_the_address_and_those_allowed")
def test_hosts_are_those_of_the_address_and_those_allowed(
    host: str, port: int, allowed: list[str], knows: list[str], refuses: list[str]
):
    hosts = hosts_of(host, port, tuple(allowed))

    assert all(map(hosts.knows, knows))
    assert not any(map(hosts.knows, refuses))


@table("core/loopback_is_known")
def test_loopback_is_known(host: str, *, wanted: bool):
    assert is_loopback(host) is wanted


@table("addresses/origins")
def test_pages_are_those_of_the_names(origin: str, *, wanted: bool):
    assert hosts_of("127.0.0.1", 9, ["A.example"]).sends(origin) is wanted
