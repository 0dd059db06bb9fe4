"""What users put into a project through which refined pages go."""

from typing import Any

from scrapy.exceptions import DropItem


class Dropping:
    """Wants nothing."""

    def process_item(self, item: Any) -> Any:
        raise DropItem(f"not wanted: {item['url']}")


class Converting:
    """Hands on copies."""

    def process_item(self, item: Any) -> Any:
        return dict(item)


class Anonymous:
    """Hands on something that does not say of which page it is."""

    def process_item(self, item: Any) -> Any:
        return {"text": item["cleaned_content"]}
