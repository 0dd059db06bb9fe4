from pathlib import Path

from scrapy.settings import Settings

from scrapy_dedup.plugin.crawl.run_state import FILE, forget_broken_queues, job_of


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


def test_queues_that_a_kill_left_without_their_head_are_forgotten(tmp_path: Path) -> None:
    """Scrapy reads four bytes of a queue that is there, and loses every request for it where there are less."""
    slot = tmp_path / "requests.queue" / "example.com"
    chunks = slot / "-1"
    chunks.mkdir(parents=True)
    files = {slot / "0": b"", slot / "0s": b"\0\0", slot / "1": b"\0\0\0\0", chunks / "q00000": b""}
    for file, content in files.items():
        file.write_bytes(content)

    forget_broken_queues(Settings({"JOBDIR": str(tmp_path)}))

    assert [file for file in files if file.exists()] == [slot / "1", chunks / "q00000"]
