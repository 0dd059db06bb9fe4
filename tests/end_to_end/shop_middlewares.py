"""Downloader middlewares as users have them around the plugin's own."""

from typing import Any

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from tests.end_to_end.recorders import note


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
