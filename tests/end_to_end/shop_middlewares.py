"""Downloader middlewares as users have them around the plugin's own."""

from typing import Any

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response

from tests.end_to_end.recorders import note


class BanDetector:
    """Takes whatever is no page for a ban."""

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 - Scrapy's signature
        if response.status != 200 and not response.url.endswith("/robots.txt"):
            raise IgnoreRequest("banned")
        return response


class Rewriter:
    """Gives the callback another body than the server gave."""

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 - Scrapy's signature
        if not isinstance(response, HtmlResponse):
            return response
        return response.replace(body=response.body.replace(b"It costs", b"Today it costs"))


class Watcher:
    """Writes down status and headers of each response, as the middlewares above the downloader see them."""

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 - Scrapy's signature
        headers: dict[str, Any] = {
            name.decode().lower(): [value.decode() for value in values] for name, values in response.headers.items()
        }
        note("watched.jsonl", {"url": response.url, "status": response.status, "headers": headers})
        return response


class Maker:
    """Answers some requests itself, as no server would."""

    def process_request(self, request: Request) -> Response | None:
        if not request.url.endswith("/p1"):
            return None
        return HtmlResponse(request.url, headers={"ETag": '"made"'}, body=b"<b class=price>99</b>", encoding="utf-8")
