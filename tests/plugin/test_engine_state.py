"""Stand-ins for the engine: what Scrapy does not promise may be missing, or fail."""

import platform
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.core.scraper import Slot
from scrapy.settings import Settings

from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.run_state import FILE, forget_broken_queues, job_of
from scrapy_dedup.plugin.runtime import share_heap


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others have one heap")
@pytest.mark.parametrize(
    ("environment", "is_shared"),
    [({}, True), ({"MALLOC_ARENA_MAX": "4"}, False), ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=4"}, False)],
)
def test_threads_share_one_heap_where_nobody_has_chosen(environment, is_shared):
    assert share_heap(environment) is is_shared


def an_engine(*, pending: bool = False, active: Any = (), closing: object = None, full: bool = False) -> Any:
    scheduler = SimpleNamespace(has_pending_requests=lambda: pending)
    return SimpleNamespace(
        _slot=SimpleNamespace(closing=closing, scheduler=scheduler),
        downloader=SimpleNamespace(active=set(active)),
        scraper=SimpleNamespace(slot=SimpleNamespace(needs_backout=lambda: full, active_size=100)),
    )


def state_of(engine: Any) -> EngineState:
    return EngineState(SimpleNamespace(engine=engine))  # type: ignore[arg-type]


def quiet_after(state: EngineState, looks: int) -> bool:
    return [state.quiet(0) for _ in range(looks)][-1]


def test_engine_is_quiet_when_several_looks_say_so():
    state = state_of(an_engine())

    assert [state.quiet(0) for _ in range(4)] == [False, False, True, True]


def test_engine_that_downloads_nothing_at_any_look_but_has_new_pages_is_not_quiet():
    state = state_of(an_engine())

    assert [state.quiet(arrived) for arrived in (1, 2, 3, 4, 4, 4, 4)] == [False] * 6 + [True]


@pytest.mark.parametrize("engine", [None, SimpleNamespace(), SimpleNamespace(_slot=None)])
def test_answer_is_no_where_scrapy_has_changed(engine):
    state = state_of(engine)

    assert not state.closing()
    assert not state.pressed(1)
    assert not quiet_after(state, 5)


def test_scheduler_that_fails_counts_as_busy_and_is_told_once(caplog):
    def fail() -> bool:
        raise ConnectionError("the queue's server is gone")

    engine = an_engine()
    engine._slot.scheduler.has_pending_requests = fail

    assert quiet_after(state_of(engine), 5) is False
    assert len(caplog.records) == 1


def test_full_scraper_presses_where_two_thirds_of_it_are_parked():
    """What is worked on leaves by itself, and pages let go early are cut by few others of their domain."""
    full, other = (state_of(an_engine(full=full)) for full in (True, False))

    assert [full.pressed(parked) for parked in (100, 67, 66)] == [True, True, False]
    assert not other.pressed(100)


@pytest.mark.parametrize(("given", "room"), [({}, 2_500_300), ({"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 7}, 7)])
def test_scraper_has_room_for_what_is_parked_unless_the_project_says_how_much(given, room):
    settings = Settings(given)
    slot = Slot(settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE"))
    crawler: Any = SimpleNamespace(engine=SimpleNamespace(scraper=SimpleNamespace(slot=slot)), settings=settings)
    EngineState(crawler).make_room(300)

    assert slot.max_active_size == room


def test_emptied_folder_is_another_job(tmp_path):
    settings = Settings({"JOBDIR": str(tmp_path)})
    name = job_of(settings)
    (tmp_path / FILE).unlink()

    assert job_of(settings) not in (name, None)


def test_file_that_a_crash_left_empty_is_written_anew(tmp_path):
    settings = Settings({"JOBDIR": str(tmp_path)})
    (tmp_path / FILE).write_bytes(b"")

    name = job_of(settings)

    assert name
    assert job_of(settings) == name


def test_queues_that_a_kill_left_without_their_head_are_forgotten(tmp_path):
    """Scrapy reads four bytes of a queue that is there, and loses every request for it where there are less."""
    slot = tmp_path / "requests.queue" / "example.com"
    chunks = slot / "-1"
    chunks.mkdir(parents=True)
    files = {slot / "0": b"", slot / "0s": b"\0\0", slot / "1": b"\0\0\0\0", chunks / "q00000": b""}
    for file, content in files.items():
        file.write_bytes(content)

    forget_broken_queues(Settings({"JOBDIR": str(tmp_path)}))

    assert [file for file in files if file.exists()] == [slot / "1", chunks / "q00000"]
