"""The words of a text that goes out, without what its form adds."""

import re
from html import unescape

from scrapy_dedup.core.pages.render import Output

# The target of a link, or of a picture, behind its text. A target holds no white space.
_TARGETS = re.compile(r"\]\([^\s()]*(?:\([^\s()]*\)[^\s()]*)*(?: \"[^\"\n]*\")?\)")
_TAGS = re.compile(r"<[^<>]*>")


def plain(content: str, output: Output) -> str:
    """Return the words of a page's clean text, whatever its form: link targets and tags are none.

    The words of pages whose texts are equal but for links come out equal.
    """
    if output == "markdown":
        return _TARGETS.sub("] ", content)
    if output == "html":
        return unescape(_TAGS.sub(" ", content))
    return content
