from typing import Any

from scrapy import Request

from scrapy_dedup.plugin.fingerprinter import Fingerprinter
from tests.plugin.builders import PAGE, a_crawler, a_request


class ByMethod:
    """A fingerprinter of a user's own."""

    def fingerprint(self, request: Request) -> bytes:
        return f"{request.method} {request.url}".encode()


def fingerprint(request: Request, **settings: Any) -> bytes:
    return Fingerprinter.from_crawler(a_crawler(**settings)).fingerprint(request)


def test_former_fingerprinter_decides_about_the_normal_url():
    request = a_request(f"{PAGE}?utm_source=mail")

    assert fingerprint(request, DEDUP_FALLBACK_REQUEST_FINGERPRINTER_CLASS=ByMethod) == f"GET {PAGE}".encode()


def test_former_fingerprinter_may_tell_apart_what_a_page_key_does_not():
    """It sees fragments and dot segments as the spider spelled them."""
    former = {"DEDUP_FALLBACK_REQUEST_FINGERPRINTER_CLASS": ByMethod}
    spelled = [PAGE, f"{PAGE}#part", f"{PAGE}/../page", f"{PAGE}?b=1&a=2", f"{PAGE}?a=2&b=1"]

    assert len({fingerprint(a_request(url, method="HEAD"), **former) for url in spelled}) == len(spelled)


def test_redirect_is_no_matter_when_nobody_else_of_us_is_there():
    """The fingerprinter alone opens no store."""
    request = a_request(meta={"redirect_urls": [f"{PAGE}/old"]})

    assert fingerprint(request) == fingerprint(a_request())
