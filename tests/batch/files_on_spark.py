"""Folders that get names from Hadoop, below the working one: what each case came to."""

from collections.abc import Callable
from pathlib import Path

from scrapy_dedup.batch.session import BatchError, Files


def put(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(name)


def told(act: Callable[[], None], folder: str) -> dict[str, object]:
    """Return how something ends: its message if it fails, and the content of each file of the case."""
    message = ""
    try:
        act()
    except BatchError as error:
        message = str(error)
    files = {str(one): one.read_text() for one in sorted(Path(folder).rglob("*")) if one.is_file()}
    return {"message": message, "files": {name: text for name, text in files.items() if not name.endswith(".crc")}}


def cases(files: Files) -> dict[str, dict[str, object]]:
    """Return of each case the message, and which files there are then."""
    put("a/part/pages/1", "b/part/1", "b/out/2", "c/part/1", "c/out/2", "d/out/2", "e/part/1", "e/out/2", "e/old/3")
    put("f/file")
    return {
        "renamed": told(lambda: files.rename("a/part", "a/out"), "a"),
        "taken": told(lambda: files.rename("b/part", "b/out"), "b"),
        "replaced": told(lambda: files.replace("c/out", "c/part", "c/old"), "c"),
        "put-back": told(lambda: files.replace("d/out", "d/part", "d/old"), "d"),
        "no-room": told(lambda: files.replace("e/out", "e/part", "e/old"), "e"),
        "nothing-to-remove": told(lambda: files.remove("f/absent"), "f"),
    }
