"""Refined pages, written to a file of JSON lines: no Scrapy run, and no pipeline but the exporter."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from io import BytesIO
from typing import BinaryIO

from scrapy.exporters import JsonLinesItemExporter

from scrapy_dedup.plugin.refined_items import Outgoing, Renewer
from scrapy_dedup.plugin.refining import Emitted
from scrapy_dedup.plugin.spool import Spool
from scrapy_dedup.service.refining import Refinement

logger = logging.getLogger(__name__)


class RefinedFile:
    """Writes items one a line, in ASCII, and remembers what is to be stored once the file is complete."""

    def __init__(self, file: BinaryIO, renewer: Renewer, emitted: Emitted) -> None:
        self._file = file
        self._page = BytesIO()
        self._exporter = JsonLinesItemExporter(self._page)
        self._renewer = renewer
        self._emitted = emitted
        self.written = Spool()
        """Records of the pages that are in the file; not in memory."""

    def add(self, lot: Iterable[Refinement]) -> None:
        """Write the items of some pages."""
        for refinement in lot:
            page = self._renewer.outgoing(refinement)
            if not self._export(page):
                self._emitted.failed += 1
                continue
            self._emitted.pages += 1
            self._emitted.made_anew += page.is_made_anew
            self.written.add(page.records(datetime.now(UTC)))

    def _export(self, page: Outgoing) -> bool:
        """Write the items of a page, or none of them where one cannot be written as JSON."""
        self._page.seek(0)
        self._page.truncate()
        try:
            for item in page.items:
                self._exporter.export_item(item)
        except (TypeError, ValueError) as error:
            logger.warning("An item of %s cannot be written as JSON: %s", page.refinement.source.url, error)
            return False
        self._file.write(self._page.getvalue())
        self._emitted.items += len(page.items)
        for number, item in enumerate(page.items):
            page.left(number, item)
        return True
