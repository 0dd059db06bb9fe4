"""A page that kills whoever reads it, as one does that takes up all memory."""

import os
import signal
from typing import Self

from scrapy.crawler import Crawler
from scrapy.http import Request, Response


class Deadly:
    """A downloader middleware: the answer for the URL in the setting DEADLY ends the process."""

    def __init__(self, url: str) -> None:
        self._url = url

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(str(crawler.settings["DEADLY"]))

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url == self._url:
            os.kill(os.getpid(), signal.SIGKILL)
        return response
