"""Where a page's links lead, made absolute and harmless."""

import re
from collections.abc import Iterable
from urllib.parse import quote, urljoin

# What a page may lead to. Others run something, hold something or open a program.
_SCHEMES = frozenset({"http", "https", "mailto", "tel", "ftp"})
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
# Browsers leave these out of addresses: "java\nscript:" is a scheme.
_IGNORED_IN_LINKS = re.compile(r"[\t\n\r]|^[\x00-\x20]+|[\x00-\x20]+$")
_UNSAFE_IN_LINKS = re.compile(r"[\x00-\x20<>\"`\\^{|}\x7f\ud800-\udfff]")
_LONGEST_LINK = 4_000


def base_of(base_url: str | None, base: str | None) -> str | None:
    """Return the address to which relative links are relative: a page may name another than its own."""
    if not base_url:
        return None
    named = target_of(base, base_url) if base else None
    return named if named and named.startswith(("http://", "https://")) else base_url


def target_of(href: str, base_url: str | None) -> str | None:
    """Return where a link leads; None where following it would run or hold something, or it is no address."""
    if len(href) > _LONGEST_LINK:
        return None
    target = _IGNORED_IN_LINKS.sub("", href)
    if base_url:
        try:
            target = urljoin(base_url, target)
        except ValueError:
            return None
    scheme = _SCHEME.match(target)
    if scheme and scheme[1].lower() not in _SCHEMES:
        return None
    return _UNSAFE_IN_LINKS.sub(lambda found: quote(found[0], errors="replace"), target)


def pages_linked(hrefs: Iterable[str], base_url: str) -> list[str]:
    """Return the http(s) addresses that links lead to, each once, in order."""
    targets = (target_of(href, base_url) for href in dict.fromkeys(hrefs))
    return list(dict.fromkeys(one for one in targets if one and one.startswith(("http://", "https://"))))
