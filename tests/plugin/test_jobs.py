from pathlib import Path

from scrapy.settings import Settings

from scrapy_dedup.plugin.jobs import FILE, job_of


def test_crawl_without_jobdir_has_no_job() -> None:
    assert job_of(Settings({"JOBDIR": None})) is None
    assert job_of(Settings({"JOBDIR": ""})) is None


def test_job_has_the_same_name_however_its_folder_is_called(tmp_path: Path) -> None:
    name = job_of(Settings({"JOBDIR": str(tmp_path / "job")}))
    (tmp_path / "job").rename(tmp_path / "moved")

    assert job_of(Settings({"JOBDIR": f"{tmp_path}/./moved/"})) == name


def test_emptied_folder_is_another_job(tmp_path: Path) -> None:
    settings = Settings({"JOBDIR": str(tmp_path)})
    name = job_of(settings)
    (tmp_path / FILE).unlink()

    assert job_of(settings) not in (name, None)


def test_file_that_a_crash_left_empty_is_written_anew(tmp_path: Path) -> None:
    settings = Settings({"JOBDIR": str(tmp_path)})
    (tmp_path / FILE).write_bytes(b"")

    name = job_of(settings)

    assert name
    assert job_of(settings) == name
