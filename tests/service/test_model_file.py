from pathlib import Path

import pytest

from scrapy_dedup.core.boilerplate.verdict_model import ModelError
from scrapy_dedup.service.crawl.start_check import check_settings
from scrapy_dedup.service.model_file import hash_of, model_hash, read_model, verdict_model
from scrapy_dedup.settings import Settings

TEXT = (Path(__file__).parents[2] / "scrapy_dedup" / "service" / "verdict_model.json").read_text("utf-8")


@pytest.mark.parametrize(
    "text", [None, "", TEXT[:-20], "[]", "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")]
)
def test_file_that_is_missing_cut_off_or_none_says_what_to_do(tmp_path, text):
    file = tmp_path / "model.json"
    if text is not None:
        file.write_text(text, "utf-8")

    with pytest.raises(ModelError, match="install scrapy_dedup again, or make one with"):
        read_model(file)


def test_hash_is_of_the_file_and_another_file_has_another(tmp_path):
    (tmp_path / "same.json").write_text(TEXT, "utf-8")
    (tmp_path / "other.json").write_text(f"{TEXT}\n", "utf-8")

    assert hash_of(tmp_path / "same.json") == model_hash()
    assert hash_of(tmp_path / "other.json") != model_hash()
    with pytest.raises(ModelError, match="install scrapy_dedup again"):
        hash_of(tmp_path / "none.json")


def test_model_is_read_before_the_first_page_and_once(tmp_path):
    verdict_model.cache_clear()

    check_settings(Settings(boilerplate_enabled=False))
    check_settings(Settings(boilerplate_method="text"))
    assert verdict_model.cache_info().currsize == 0
    check_settings(Settings())
    assert verdict_model.cache_info().currsize == 1
    (tmp_path / "copy.json").write_text(TEXT, "utf-8")
    assert read_model(tmp_path / "copy.json") == verdict_model()
