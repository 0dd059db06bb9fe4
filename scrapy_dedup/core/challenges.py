"""Pages that stand in the way of content: captchas and challenges of several makers, known by their marks."""

import re
from collections.abc import Mapping
from typing import Final

# What the makers' own scripts and forms are called; none of them is the name of a site that uses them.
_SCRIPTS: Final = {
    "cloudflare": re.compile(r"/cdn-cgi/challenge-platform/|challenges\.cloudflare\.com/turnstile|cf[-_]chl[-_]"),
    "recaptcha": re.compile(r"class=[\"'][^\"'<>]{0,200}g-recaptcha|/recaptcha/(?:api|enterprise)\.js|recaptcha/api/"),
    "hcaptcha": re.compile(r"class=[\"'][^\"'<>]{0,200}h-captcha|\bhcaptcha\.com/1/api\.js"),
    "datadome": re.compile(r"captcha-delivery\.com|geo\.captcha-delivery"),
    "perimeterx": re.compile(r"\bpx-captcha\b|_pxAppId|captcha\.px-cdn\.net"),
    "imperva": re.compile(r"_Incapsula_Resource|Incapsula incident ID"),
    "akamai": re.compile(r"sec-if-cpt-container|/_sec/cp_challenge/|akam-sw\.js"),
    "aws": re.compile(r"\.awswaf\.com/|AwsWafIntegration|awsWafCookieDomainList"),
    "geetest": re.compile(r"\bgeetest_|initGeetest|static\.geetest\.com"),
    "arkose": re.compile(r"arkoselabs\.com|\bfuncaptcha\b"),
    "friendly": re.compile(r"class=[\"'][^\"'<>]{0,200}frc-captcha"),
}
_HEADERS: Final = (
    ("cf-mitigated", re.compile("challenge"), "cloudflare"),
    ("x-amzn-waf-action", re.compile("captcha|challenge"), "aws"),
    ("x-datadome", re.compile("."), "datadome"),
    ("x-px-captcha", re.compile("."), "perimeterx"),
)
# A form field, a picture or an address that is called so.
_CAPTCHA_FORM: Final = re.compile(
    r"<(?:form|input|img|iframe|div)\b[^<>]{0,400}\b(?:name|id|class|action|src|alt)\s*=\s*[\"']?[^\"'<>]{0,200}captcha",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"<(/?[A-Za-z]*+)[^<>]*+>?")
_UNSEEN: Final = frozenset({"script", "style", "noscript"})
_REFUSING: Final = frozenset({401, 403, 405, 429, 503})
# A page of a form has a sentence or two; one with a captcha beside its comments has its content.
_SHORT_CHARS: Final = 1_500
_LOOKED_AT_CHARS: Final = 100_000


def challenge_of(status: int, headers: Mapping[str, str], html: str) -> str | None:
    """Return by whose mark a response is a challenge or a captcha; None where it is none.

    A page of content that has a captcha in it, for its comments or its login, is none: it is longer.

    Args:
        status: of the answer.
        headers: of the answer, with names in lower case.
        html: the page; its beginning counts.
    """
    html = html[:_LOOKED_AT_CHARS]
    refuses = status in _REFUSING
    for name, value, maker in _HEADERS:
        # Some makers name themselves in every answer.
        if value.search(headers.get(name, "")) and (refuses or name != "x-datadome"):
            return maker
    if "<" not in html or not (refuses or _is_short(html)):
        return None
    for maker, mark in _SCRIPTS.items():
        if mark.search(html):
            return maker
    return "form" if _CAPTCHA_FORM.search(html) else None


def _is_short(html: str) -> bool:
    """Say whether a page shows little text; in one pass, for it may be hostile."""
    chars, end, within = 0, 0, ""
    for tag in _TAG.finditer(html):
        if not within:
            chars += len(" ".join(html[end : tag.start()].split()))
        end = tag.end()
        name = tag[1].lower()
        if within:
            within = "" if name == f"/{within}" else within
        elif name in _UNSEEN:
            within = name
    return chars + (0 if within else len(" ".join(html[end:].split()))) <= _SHORT_CHARS
