"""Several workers on one Redis and one PostgreSQL, from Debian's packages and without containers.

    apt-get install redis-server postgresql
    pip install '.[postgresql,redis,server]'        # in a checkout
    python docs/deploy/start.py --workers 2 --start https://example.com/

Starts servers of its own on free ports, with their files in one folder; needs no root. Ctrl+C ends the workers, which
finish what they have begun, and the servers; the same call goes on with the crawl. Settings: shared.env.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
START_SECONDS = 60
STOP_SECONDS = 120


class Processes:
    """What was started, ended in the opposite order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()

    def start(
        self, name: str, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], user: str | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start a process whose output goes to a file, in a session of its own: Ctrl+C is for us alone."""
        with (self._folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(
                command, cwd=cwd, env=env, stdout=log, stderr=log, start_new_session=True, **_as_user(user)
            )
        self._stack.callback(stop, process)
        return process

    def end(self) -> None:
        """End all of them."""
        self._stack.close()


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process as Ctrl+C would, and wait for it; kill it where it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> int:
    """Run a crawl to its end; return 1 where a worker failed."""
    args = arguments()
    env = os.environ | settings_of(HERE / "shared.env") | {"CRAWL_OUTPUT": str(args.folder / "output")}
    env |= {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    for name, value in (("CRAWL_START", args.start), ("CRAWL_WORKERS", args.workers)):
        env |= {name: value} if value else {}
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    processes = Processes(args.folder)
    try:
        env["REDIS_URL"] = start_redis(processes, args.folder)
        env["DEDUP_DATABASE_URL"] = start_postgresql(processes, args.folder, env)
        if args.serve:
            serve = [sys.executable, "-m", "scrapy", "dedup", "serve"]
            processes.start("serve", serve, cwd=args.project, env=env)
        return crawl(processes, args.project, env)
    except KeyboardInterrupt:
        print("ending; the same call goes on with the crawl", flush=True)
        return 130
    finally:
        processes.end()


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", help="the first page; else CRAWL_START of shared.env")
    parser.add_argument("--workers", help="how many; else CRAWL_WORKERS of shared.env")
    parser.add_argument("--folder", type=Path, default=Path("shared-crawl"), help="for queue, store, output and logs")
    parser.add_argument("--project", type=Path, default=HERE.parents[1] / "example_project", help="a Scrapy project")
    parser.add_argument("--serve", action="store_true", help="with the dashboard, at the address in serve.log")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    return args


def settings_of(path: Path) -> dict[str, str]:
    """Return the names and values of an env file."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def crawl(processes: Processes, project: Path, env: Mapping[str, str]) -> int:
    """Start the workers and wait for all of them."""
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"start={env['CRAWL_START']}", "-a", "pages=0"]
    workers = [
        processes.start(f"worker-{number}", command, cwd=project, env=env)
        for number in range(1, int(env["CRAWL_WORKERS"]) + 1)
    ]
    print(f"{len(workers)} workers crawl {env['CRAWL_START']}", flush=True)
    codes = [worker.wait() for worker in workers]
    print(f"done; the items are in {env['CRAWL_OUTPUT']}", flush=True)
    return int(any(codes))


def start_redis(processes: Processes, folder: Path) -> str:
    """Start Redis; return its URL."""
    program, port, files = found("redis-server", "redis-server"), free_port(), folder / "redis"
    files.mkdir(exist_ok=True)
    options = f"--port {port} --bind 127.0.0.1 --appendonly yes --maxmemory-policy noeviction --dir {files}"
    process = processes.start("redis", [program, *options.split()], cwd=files, env=os.environ)
    wait_for(process, [found("redis-cli", "redis-server"), "-p", str(port), "ping"], "PONG")
    return f"redis://127.0.0.1:{port}/0"


def start_postgresql(processes: Processes, folder: Path, env: Mapping[str, str]) -> str:
    """Start PostgreSQL, with an empty database at the first time; return its URL."""
    programs, port, files = postgresql_programs(), free_port(), folder / "postgresql"
    # It refuses to run as root; Debian's package brings a user for it.
    user = "postgres" if os.geteuid() == 0 else None
    name, password, database = (env[f"POSTGRES_{what}"] for what in ("USER", "PASSWORD", "DB"))
    if not (files / "data").exists():
        files.mkdir(exist_ok=True)
        secret = files / "password"
        secret.write_text(password)
        if user:
            for path in (files, secret):
                shutil.chown(path, user, user)
        options = [f"--username={name}", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8"]
        subprocess.run(
            [programs / "initdb", *options, "data"], cwd=files, check=True, stdout=subprocess.DEVNULL, **_as_user(user)
        )
        secret.unlink()
    settings = ("listen_addresses=127.0.0.1", f"port={port}", "unix_socket_directories=")
    command = [str(programs / "postgres"), "-D", "data", *(word for one in settings for word in ("-c", one))]
    process = processes.start("postgresql", command, cwd=files, env=os.environ, user=user)
    wait_for(process, [str(programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)], "accepting")
    at = ["-h", "127.0.0.1", "-p", str(port), "-U", name]
    made = [str(programs / "createdb"), *at, database]
    # It is there from the second time on.
    subprocess.run(made, env=os.environ | {"PGPASSWORD": password}, check=False, stderr=subprocess.DEVNULL)
    return f"postgresql+psycopg://{name}:{password}@127.0.0.1:{port}/{database}"


def wait_for(process: "subprocess.Popen[bytes]", question: Sequence[str], answer: str) -> None:
    """Wait until a server answers; exit where it does not."""
    until = time.monotonic() + START_SECONDS
    while answer not in subprocess.run(question, capture_output=True, text=True, check=False).stdout:
        if process.poll() is not None or time.monotonic() > until:
            sys.exit(f"{process.args!s:.200} does not start; its log is in the folder")
        time.sleep(0.1)


def postgresql_programs() -> Path:
    """Return the folder with the programs of the newest PostgreSQL."""
    numbered = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.parent.name.isdigit()]
    if numbered:
        return max(numbered, key=lambda path: int(path.parent.name))
    return Path(found("initdb", "postgresql")).resolve().parent


def found(program: str, package: str) -> str:
    """Return where a program is; exit where it is missing."""
    return shutil.which(program) or sys.exit(f"{program} is not here; on Debian and Ubuntu: apt-get install {package}")


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _as_user(user: str | None) -> dict[str, Any]:
    return {"user": user, "group": user, "extra_groups": []} if user else {}


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
