"""`scrapy dedup <verb>`."""

from scrapy.commands import ScrapyCommand


class Command(ScrapyCommand):
    """Stub."""

    requires_project = False

    def short_desc(self) -> str:
        return "Duplicates"

    def run(self, args, opts) -> None:
        pass
