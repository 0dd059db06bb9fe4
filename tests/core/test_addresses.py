from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.addresses import Refusal, host_is_address, is_public, may_fetch

PUBLIC = "93.184.215.14"
PRIVATE = "10.0.0.7"


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("93.184.215.14", id="any"),
        pytest.param("1.1.1.1", id="resolver"),
        pytest.param("172.15.255.255", id="below-172.16"),
        pytest.param("172.32.0.0", id="above-172.31"),
        pytest.param("100.63.255.255", id="below-carrier-nat"),
        pytest.param("100.128.0.0", id="above-carrier-nat"),
        pytest.param("192.0.3.0", id="above-documentation"),
        pytest.param("198.20.0.0", id="above-benchmarks"),
        pytest.param("223.255.255.255", id="below-multicast"),
        pytest.param("2606:2800:21f:cb07:6820:80da:af6b:8b2c", id="v6"),
        pytest.param("2001:200::1", id="v6-above-protocols"),
        pytest.param("2a00:1450:4001:80b::200e", id="v6-europe"),
        pytest.param("::ffff:93.184.215.14", id="v4-mapped"),
        pytest.param("64:ff9b::5db8:d70e", id="nat64"),
    ],
)
def test_an_address_that_anyone_can_reach_is_public(address: str):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("127.0.0.1", id="loopback"),
        pytest.param("127.255.255.254", id="loopback-end"),
        pytest.param("0.0.0.0", id="unspecified"),
        pytest.param("0.1.2.3", id="this-network"),
        pytest.param("10.0.0.1", id="private-10"),
        pytest.param("172.16.0.1", id="private-172"),
        pytest.param("172.31.255.255", id="private-172-end"),
        pytest.param("192.168.1.1", id="private-192"),
        pytest.param("169.254.169.254", id="link-local-metadata"),
        pytest.param("100.64.0.1", id="carrier-nat"),
        pytest.param("100.127.255.255", id="carrier-nat-end"),
        pytest.param("192.0.0.1", id="protocols"),
        pytest.param("192.0.2.1", id="documentation-1"),
        pytest.param("198.51.100.1", id="documentation-2"),
        pytest.param("203.0.113.1", id="documentation-3"),
        pytest.param("192.88.99.1", id="6to4-relay"),
        pytest.param("198.18.0.1", id="benchmarks"),
        pytest.param("224.0.0.1", id="multicast"),
        pytest.param("239.255.255.250", id="multicast-ssdp"),
        pytest.param("240.0.0.1", id="reserved"),
        pytest.param("255.255.255.255", id="broadcast"),
        pytest.param("::", id="v6-unspecified"),
        pytest.param("::1", id="v6-loopback"),
        pytest.param("fe80::1", id="v6-link-local"),
        pytest.param("fe80::1%eth0", id="v6-link-local-zone"),
        pytest.param("2606:2800:21f:cb07::1%eth0", id="v6-zone-on-public"),
        pytest.param("fec0::1", id="v6-site-local"),
        pytest.param("fc00::1", id="v6-unique-local-c"),
        pytest.param("fd12:3456:789a::1", id="v6-unique-local-d"),
        pytest.param("fd00:ec2::254", id="v6-metadata"),
        pytest.param("ff02::1", id="v6-multicast"),
        pytest.param("2001:db8::1", id="v6-documentation"),
        pytest.param("3fff::1", id="v6-documentation-new"),
        pytest.param("100::1", id="v6-discard"),
        pytest.param("5f00::1", id="v6-segment-routing"),
        pytest.param("2001:2::1", id="v6-benchmarks"),
        pytest.param("2001:10::1", id="orchid"),
        pytest.param("4000::1", id="v6-not-given"),
        pytest.param("::ffff:127.0.0.1", id="v4-mapped-loopback"),
        pytest.param("::ffff:10.0.0.1", id="v4-mapped-private"),
        pytest.param("::ffff:a9fe:a9fe", id="v4-mapped-metadata-hex"),
        pytest.param("::127.0.0.1", id="v4-compatible-loopback"),
        pytest.param("::93.184.215.14", id="v4-compatible"),
        pytest.param("2002:7f00:1::", id="6to4-loopback"),
        pytest.param("2002:a00:1::1", id="6to4-private"),
        pytest.param("2002:5db8:d70e::1", id="6to4"),
        pytest.param("2001:0:4136:e378:8000:63bf:3fff:fdd2", id="teredo"),
        pytest.param("64:ff9b::7f00:1", id="nat64-loopback"),
        pytest.param("64:ff9b::10.0.0.1", id="nat64-private"),
        pytest.param("64:ff9b::a9fe:a9fe", id="nat64-metadata"),
        pytest.param("64:ff9b:1::5db8:d70e", id="nat64-local-use"),
        pytest.param("", id="empty"),
        pytest.param("localhost", id="name"),
        pytest.param("127.1", id="short"),
        pytest.param("0177.0.0.1", id="octal"),
        pytest.param("[::1]", id="brackets"),
    ],
)
def test_an_address_that_not_everyone_can_reach_is_not_public(address: str):
    assert not is_public(address)


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_as_public_in_whatever_it_is_wrapped(number: int):
    address = IPv4Address(number)

    for wrapped in (IPv6Address((0xFFFF << 32) | number), IPv6Address((0x64FF9B << 96) | number)):
        assert is_public(str(wrapped)) is is_public(str(address))


@given(st.integers(0, 2**32 - 1))
def test_what_python_calls_private_is_never_public(number: int):
    address = IPv4Address(number)

    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert not is_public(str(address))


@given(st.integers(0, 2**128 - 1))
def test_what_python_calls_private_is_never_public_in_ipv6(number: int):
    address = IPv6Address(number)

    if address.is_private or address.is_site_local or address.is_link_local or address.is_multicast:
        assert not is_public(str(address))


@pytest.mark.parametrize(
    ("host", "is_address"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1.", True),
        ("127.1", True),
        ("2130706433", True),
        ("0x7f000001", True),
        ("0X7F.1", True),
        ("0x", True),
        ("017700000001", True),
        ("0177.0.0.01", True),
        ("999.999.999.999", True),
        ("a.b.3", True),
        ("[::1]", True),
        ("::1", True),
        ("[::ffff:127.0.0.1]", True),
        ("\uff11\uff12\uff17.0.0.1", True),
        ("127\u30020\u30020\u30021", True),
        ("example.com", False),
        ("example.com.", False),
        ("1.example.com", False),
        ("3com.com", False),
        ("0xdeadbeef.com", False),
        ("localhost", False),
        ("m\u00fcnchen.de", False),
        ("", False),
    ],
)
def test_a_host_that_is_an_address_is_told_however_it_is_spelt(host: str, *, is_address: bool):
    assert host_is_address(host) is is_address


PAGE = "http://127.0.0.1:8000/a/page"


@pytest.mark.parametrize(
    ("url", "page_url", "addresses", "refusal"),
    [
        pytest.param("https://cdn.example/a.css", "http://example.org/", [PUBLIC], None, id="public"),
        pytest.param("http://cdn.example/a.css", PAGE, [PUBLIC, "2606:2800::1"], None, id="all-public"),
        pytest.param("http://1.1.1.1/a.css", "http://example.org/", [], None, id="public-literal"),
        pytest.param("http://[2606:2800::1]/", "http://example.org/", ["2606:2800::1"], None, id="public-literal-v6"),
        pytest.param("http://127.0.0.1:8000/a.css", PAGE, ["127.0.0.1"], None, id="own-place"),
        pytest.param(
            "http://LOCALHOST.:80/a", "http://localhost/b", ["127.0.0.1"], None, id="own-place-spelt-otherwise"
        ),
        pytest.param("http://[0:0:0:0:0:0:0:1]/a", "http://[::1]/", ["::1"], None, id="own-place-v6"),
        pytest.param("http://intern.example/a?b#c", "http://intern.example/", [PRIVATE], None, id="own-private-place"),
        pytest.param("http://127.0.0.1:8001/", PAGE, ["127.0.0.1"], Refusal.PRIVATE, id="other-port"),
        pytest.param("https://127.0.0.1/", "http://127.0.0.1/", ["127.0.0.1"], Refusal.PRIVATE, id="other-scheme"),
        pytest.param("http://localhost:8000/", PAGE, ["127.0.0.1"], Refusal.PRIVATE, id="other-name-of-it"),
        pytest.param("http://127.0.0.2:8000/", PAGE, ["127.0.0.2"], Refusal.PRIVATE, id="other-loopback"),
        pytest.param("http://cdn.example/", PAGE, [PUBLIC, PRIVATE], Refusal.PRIVATE, id="one-of-them-private"),
        pytest.param("http://10.0.0.7/", PAGE, [PUBLIC], Refusal.PRIVATE, id="literal-whatever-it-resolves-to"),
        pytest.param("http://[::ffff:10.0.0.7]/", PAGE, [], Refusal.PRIVATE, id="literal-mapped"),
        pytest.param("http://cdn.example/", PAGE, [], Refusal.UNRESOLVED, id="unresolved"),
        pytest.param("http://0x7f.1/", PAGE, [PUBLIC], Refusal.ODD_ADDRESS, id="hex"),
        pytest.param("http://017700000001/", PAGE, [PUBLIC], Refusal.ODD_ADDRESS, id="octal"),
        pytest.param("http://2130706433/", PAGE, [PUBLIC], Refusal.ODD_ADDRESS, id="one-number"),
        pytest.param("http://[1:2]/", PAGE, [PUBLIC], Refusal.ODD_ADDRESS, id="no-address-in-brackets"),
        pytest.param("http://user@example.org/", PAGE, [PUBLIC], Refusal.USERINFO, id="user"),
        pytest.param("http://user:word@example.org/", PAGE, [PUBLIC], Refusal.USERINFO, id="password"),
        pytest.param("http://@127.0.0.1:8000/", PAGE, [PUBLIC], Refusal.USERINFO, id="empty-user"),
        pytest.param("http://a@b@127.0.0.1/", PAGE, [PUBLIC], Refusal.MALFORMED, id="two-users"),
        pytest.param("http://example.org\\@127.0.0.1/", PAGE, [PUBLIC], Refusal.MALFORMED, id="backslash"),
        pytest.param("http://127.0.0.1:8000\\@example.org/", PAGE, [PUBLIC], Refusal.MALFORMED, id="backslash-own"),
        pytest.param("http://exa\tmple.org/", PAGE, [PUBLIC], Refusal.MALFORMED, id="tab"),
        pytest.param("http://example%2eorg/", PAGE, [PUBLIC], Refusal.MALFORMED, id="escape-in-host"),
        pytest.param("http:///example.org/", PAGE, [PUBLIC], Refusal.MALFORMED, id="no-host"),
        pytest.param("http:example.org", PAGE, [PUBLIC], Refusal.MALFORMED, id="no-slashes"),
        pytest.param("http://[fe80::1%25eth0]/", PAGE, [PUBLIC], Refusal.MALFORMED, id="zone"),
        pytest.param("http://example.org:http/", PAGE, [PUBLIC], Refusal.MALFORMED, id="port-is-a-word"),
        pytest.param("file:///etc/passwd", PAGE, [PUBLIC], Refusal.SCHEME, id="file"),
        pytest.param("ftp://example.org/", PAGE, [PUBLIC], Refusal.SCHEME, id="ftp"),
        pytest.param("data:text/css,a", PAGE, [PUBLIC], Refusal.SCHEME, id="data"),
        pytest.param("view-source:http://example.org/", PAGE, [PUBLIC], Refusal.SCHEME, id="view-source"),
        pytest.param("ws://example.org/", PAGE, [PUBLIC], Refusal.SCHEME, id="socket"),
        pytest.param("//example.org/", PAGE, [PUBLIC], Refusal.SCHEME, id="no-scheme"),
        pytest.param("", PAGE, [PUBLIC], Refusal.SCHEME, id="empty"),
    ],
)
def test_only_public_places_and_the_pages_own_may_be_asked(
    url: str, page_url: str, addresses: list[str], refusal: Refusal | None
):
    assert may_fetch(url, page_url, addresses) is refusal


@pytest.mark.parametrize(
    ("url", "allowed", "refusal"),
    [
        pytest.param("http://cdn.intern/a.css", "cdn.intern", None, id="host"),
        pytest.param("http://cdn.intern:8080/a.css", "CDN.intern.", None, id="host-any-port"),
        pytest.param("http://cdn.intern:8080/a.css", "cdn.intern:8080", None, id="host-and-port"),
        pytest.param("https://cdn.intern/a.css", "cdn.intern:443", None, id="port-of-the-scheme"),
        pytest.param("http://[fd00::1]:81/a.css", "[fd00::1]:81", None, id="v6-and-port"),
        pytest.param("http://[fd00::1]:81/a.css", "fd00::1", None, id="v6"),
        pytest.param("http://10.0.0.7/a.css", "10.0.0.7", None, id="address"),
        pytest.param("http://cdn.intern:8081/a.css", "cdn.intern:8080", Refusal.PRIVATE, id="another-port"),
        pytest.param("http://a.cdn.intern/a.css", "cdn.intern", Refusal.PRIVATE, id="below-it"),
        pytest.param("http://user@cdn.intern/a.css", "cdn.intern", Refusal.USERINFO, id="user"),
        pytest.param("http://strasse.intern/", "stra\u00dfe.intern", Refusal.PRIVATE, id="another-name"),
    ],
)
def test_a_private_host_may_be_allowed_by_name(url: str, allowed: str, refusal: Refusal | None):
    assert may_fetch(url, PAGE, [PRIVATE], {allowed}) is refusal


@given(st.text(), st.text(), st.lists(st.text()))
def test_no_text_is_too_odd_to_be_judged(url: str, page_url: str, addresses: list[str]):
    for each in (url, f"http://{url}"):
        answer = may_fetch(each, page_url, addresses, {url})

        assert answer is None or isinstance(answer, Refusal)


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
def test_a_long_url_is_judged_at_once(url: str):
    assert may_fetch(url, PAGE, [PRIVATE]) is not None
