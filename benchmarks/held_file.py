"""Hold a file in memory while it grows, until it is gone: `python -m benchmarks.held_file STORE/dedup.db`.

For machines whose kernel takes back what of a file was not read for some seconds though memory is free (DAMON): there a
store that is larger than what is left of it in memory is read from the disk again and again.
"""

import ctypes
import mmap
import os
import sys
import time
from pathlib import Path

_SECONDS = 1


def main() -> None:
    """Hold the file that is named, and print how many bytes of it are held.

    Raises:
        OSError: the file is not there, or this user may not hold so much (`ulimit -l`).
    """
    path, held = Path(sys.argv[1]), 0
    with path.open("rb") as file:
        while path.exists():
            size = os.fstat(file.fileno()).st_size // mmap.PAGESIZE * mmap.PAGESIZE
            if size > held:
                _hold(file.fileno(), held, size - held)
                held = size
                print(held, flush=True)
            time.sleep(_SECONDS)


def _hold(file: int, begin: int, size: int) -> None:
    """Map a part of a file, and keep it in memory for as long as this process lives."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, begin)
    if at == ctypes.c_void_p(-1).value or libc.mlock(at, size):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
