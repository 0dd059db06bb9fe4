"""How many blocks of a page each layer left out."""

from scrapy_dedup.service.cut.cleaning import Cleaned

LAYER = "boilerplate"
PATTERNS = "patterns"
LAYERS = (LAYER, PATTERNS)
"""Those that leave out blocks; each has a decision of its own about a page."""


def counts_of(cleaned: Cleaned) -> dict[str, int]:
    """Return by how much a cleaned page adds to the stats, by their names without `dedup/`."""
    found = {"pages/chars_in": cleaned.chars_in, "pages/chars_out": cleaned.chars_out}
    for prefix, removed in (("", cleaned.removed), ("shadow/", cleaned.shadowed)):
        for layer in LAYERS:
            own = [one for one in removed if one.removal.rule.layer == layer]
            if own:
                found |= {
                    f"{prefix}{layer}/pages": 1,
                    f"{prefix}{layer}/blocks": len(own),
                    f"{prefix}{layer}/chars": sum(len(one.text) for one in own),
                }
    return found
