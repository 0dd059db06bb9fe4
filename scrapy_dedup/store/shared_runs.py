"""What the end of one worker means for the run that it shares."""

import uuid
from collections.abc import Sequence

from scrapy_dedup.store.stored import Ending, StoredWorker


def judge_end(workers: Sequence[StoredWorker], ended: uuid.UUID, *, abandoned: bool, shares_queue: bool) -> Ending:
    """Return whether a run is over, and whether it saw all that there is to see.

    A run is finished if its last worker came to its own end and no claim of a dead worker is left. Whether it saw
    everything is in doubt where each worker has a queue of its own, and one of them did not come to its end: what
    that queue held nobody knows.

    Args:
        workers: of the run.
        ended: the one that has just ended.
        abandoned: a dead worker's claim is still pending.
        shares_queue: the workers have one queue.
    """
    if any(worker.status == "running" for worker in workers):
        return Ending(is_last=False, status="running")
    last = next(worker for worker in workers if worker.id == ended)
    if last.status != "finished":
        return Ending(is_last=True, status="stopped")
    if abandoned:
        return Ending(is_last=True, status="stopped", doubt="a lost worker's pages were not done by another")
    unfinished = sorted({worker.status for worker in workers if worker.status in ("stopped", "lost")})
    if unfinished and not shares_queue:
        what = " and ".join(unfinished)
        # The next crawl begins a new run all the same: of that queue nothing is left to go on with.
        return Ending(is_last=True, status="finished", doubt=f"a worker with a queue of its own was {what}")
    return Ending(is_last=True, status="finished")


def last_to_finish(workers: Sequence[StoredWorker], *, abandoned: bool) -> StoredWorker | None:
    """Return the worker with whose end a run was over that nobody ended; None: there is something to go on with.

    Args:
        workers: of a run of which nobody is left.
        abandoned: a dead worker's claim is still pending.
    """
    ends = [each.finished_at for each in workers if each.status in ("finished", "stopped") and each.finished_at]
    at = max(ends, default=None)
    # What became of the first requests of one that began later, nobody knows.
    if at is None or abandoned or any(each.started_at > at for each in workers):
        return None
    return next((each for each in workers if each.status == "finished" and each.finished_at == at), None)
