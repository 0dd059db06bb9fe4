from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.addresses import AddressRefusal, host_is_address, hosts_of, is_loopback, is_public, may_fetch
from tests.tables import table

PRIVATE = "10.0.0.7"


@table("addresses/public")
def test_an_address_that_anyone_can_reach_is_public(address):
    assert is_public(address)


@table("addresses/not_public")
def test_an_address_that_not_everyone_can_reach_is_not_public(address):
    assert not is_public(address)


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_as_public_in_whatever_it_is_wrapped(number):
    address = IPv4Address(number)

    for wrapped in (IPv6Address((0xFFFF << 32) | number), IPv6Address((0x64FF9B << 96) | number)):
        assert is_public(str(wrapped)) is is_public(str(address))


@given(st.integers(0, 2**32 - 1))
def test_what_python_calls_private_is_never_public(number):
    address = IPv4Address(number)

    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert not is_public(str(address))


@table("addresses/hosts")
def test_a_host_that_is_an_address_is_told_however_it_is_spelt(host, *, is_address):
    assert host_is_address(host) is is_address


PAGE = "http://127.0.0.1:8000/a/page"


@table("addresses/requests")
def test_only_public_places_and_the_pages_own_may_be_asked(url, page_url, addresses, refusal):
    assert may_fetch(url, page_url, addresses) == refusal


@table("addresses/allowed_by_name")
def test_a_private_host_may_be_allowed_by_name(url, allowed, refusal):
    assert may_fetch(url, PAGE, [PRIVATE], {allowed}) == refusal


@given(st.text(), st.text(), st.lists(st.text()))
def test_no_text_is_too_odd_to_be_judged(url, page_url, addresses):
    for each in (url, f"http://{url}"):
        answer = may_fetch(each, page_url, addresses, {url})

        assert answer is None or isinstance(answer, AddressRefusal)


@pytest.mark.parametrize(
    "url",
    [
        "http://" + "a." * 50_000 + "/",
        "http://" + "1" * 100_000,
        "http://" + "a" * 100_000 + "@",
        "http://[" + ":" * 99_999,
    ],
    ids=["labels", "digits", "user", "colons"],
)
def test_a_long_url_is_judged_at_once(url):
    assert may_fetch(url, PAGE, [PRIVATE]) is not None


@table("core/hosts_are_those_of_the_address_and_those_allowed")
def test_hosts_are_those_of_the_address_and_those_allowed(host, port, allowed, knows, refuses):
    hosts = hosts_of(host, port, tuple(allowed))

    assert all(map(hosts.knows, knows))
    assert not any(map(hosts.knows, refuses))


@table("core/loopback_is_known")
def test_loopback_is_known(host, *, wanted):
    assert is_loopback(host) is wanted


@table("addresses/origins")
def test_pages_are_those_of_the_names(origin, *, wanted):
    assert hosts_of("127.0.0.1", 9, ["A.example"]).sends(origin) is wanted
