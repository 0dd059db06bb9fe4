"""Codes of languages: which there are, and which are easily taken for one another."""

import re
from typing import Final

# ISO 639-1, all 183 of it; `no` is kept beside `nb` and `nn`.
CODES: Final = frozenset(
    (
        "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv "
        "dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie "
        "ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv "
        "mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm "
        "rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts "
        "tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
    ).split()
)
# Written so much alike that a sentence of one often passes for another; some are dialects that only detectors know.
_CLOSE: Final = tuple(
    frozenset(group.split())
    for group in (
        "nl af li fy nds vls zea",
        "de lb nds als bar ksh pfl frr gsw",
        "da no nb nn sv fo",
        "cs sk",
        "es gl ca pt ast an oc ext mwl lad",
        "it co scn lmo vec nap pms sc la",
        "fr oc wa frp nrm pcd",
        "hr sr bs sl sh mk bg",
        "ru uk be bg rue",
        "id ms jv su min",
        "tr az tk",
        "et fi vep",
        "hi mr ne bh mai sa",
        "fa ps ckb mzn glk",
        "en sco",
        "zh wuu yue ja",
    )
)
_TAG: Final = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_].*)?\s*", re.DOTALL)
# Written before 1989, or as one of two written forms.
_SAME: Final = {"iw": "he", "in": "id", "ji": "yi", "nob": "nb", "nno": "nn"}


def check_language(code: str) -> str:
    """Return the code as it is.

    Raises:
        ValueError: it is not an ISO 639-1 code in lower case.
    """
    if code not in CODES:
        raise ValueError(f"{code!r}: needs a two-letter code of ISO 639-1, one of {' '.join(sorted(CODES))}")
    return code


def primary(tag: str | None) -> str | None:
    """Return the language of a `lang` attribute such as "nl-BE", in lower case; None for what is no such tag."""
    match = _TAG.fullmatch((tag or "")[:100])
    if match is None:
        return None
    code = match[1].lower()
    code = _SAME.get(code, code)
    return code if code in CODES else None


def are_close(one: str, other: str) -> bool:
    """Whether two languages are easily taken for one another."""
    return any(one in group and other in group for group in _CLOSE)
