"""The style sheet: the report's, and what only the dashboard has, in one answer."""

from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.report.drawing import css

router = APIRouter()
_FILE: Final = Path(__file__).parents[1] / "static" / "dashboard.css"


@router.get("/static/dashboard.css")
def style_sheet() -> Response:
    """Return the style of every page, the one that asks for the token included."""
    return Response(_style(), media_type="text/css", headers={"Cache-Control": "no-cache"})


@cache
def _style() -> str:
    return css() + _FILE.read_text(encoding="utf-8")
