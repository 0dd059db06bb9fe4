"""Does the store level off where the same pages are crawled again and again, half of them changed each time?

One local site with ETags is crawled many times into one store. After each crawl: the bytes of the file that hold
something, and those of each table with its indexes.
"""

import argparse
import sqlite3
import tempfile
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

from benchmarks import results
from benchmarks.crawls import crawl_in
from benchmarks.local_site import serving

_LAST: Final = 10
MOST_GROWTH: Final = 0.05
"""Of the last ten crawls' sizes: from the smallest to the largest."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--crawls", type=int, default=40)
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="of the crawls")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    settings = dict(one.split("=", 1) for one in args.setting)
    sizes, tables = [], [dict[str, int]()]
    with tempfile.TemporaryDirectory() as folder, serving(args.pages, etags=True) as (start,):
        for number in range(args.crawls):
            crawl = crawl_in(Path(folder), start, settings)
            if crawl.pages != args.pages:
                raise RuntimeError(f"crawl {number + 1} reached {crawl.pages} of {args.pages} pages: {crawl.stats}")
            tables.append(_bytes_of_tables(Path(folder, "dedup.db")))
            sizes.append(sum(tables[-1].values()))
            print(f"crawl {number + 1:3}: {sizes[-1]:>12,} bytes in use", flush=True)
            urllib.request.urlopen(urljoin(start, "/change")).close()
    last = sizes[-_LAST:]
    growth = max(last) / min(last) - 1
    print(f"the last {len(last)}: {growth:.1%} from the smallest to the largest; at most {MOST_GROWTH:.0%} is the aim")
    then, now = tables[-len(last)], tables[-1]
    for name in sorted(now, key=lambda name: (-now[name], name)):
        each = now[name] / args.pages
        print(
            f"  {name:22}{each:>10,.0f} bytes a page, {(now[name] - then.get(name, 0)) / args.pages:>+8,.0f} in these"
        )
    figures = {"pages": args.pages, "settings": settings, "sizes": sizes, "growth": growth, "tables": now}
    results.write(args.json, figures)


def _bytes_of_tables(file: Path) -> dict[str, int]:
    """Return the bytes of each table with its indexes."""
    asked = "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name GROUP BY 1"
    with closing(sqlite3.connect(file)) as connection:
        return dict(connection.execute(asked))


if __name__ == "__main__":
    main()
