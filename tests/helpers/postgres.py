"""A temporary PostgreSQL server, started from the installed binaries."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest
from helpers.free_ports import free_port

USER = "mtloop"

# For tests of locks, stored sums and constraints: the quick run has them on both databases.
both_databases = pytest.mark.parametrize("settings", ["sqlite", "postgresql"], indirect=True)


def binaries() -> Path | None:
    """Return the folder of the PostgreSQL programs, or None if it is not installed."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    found = shutil.which("postgres") or (str(versions[-1]) if versions else None)
    return Path(found).resolve().parent if found else None


class Postgres:
    """A server on a free local port. `durable` keeps fsync on, for tests that simulate a power failure."""

    def __init__(self, durable: bool = False) -> None:
        found = binaries()
        assert found is not None
        self.bin, self.durable = found, durable
        self.folder = Path(tempfile.mkdtemp(prefix="mtloop-postgres-"))
        self.port = free_port()
        self._set_owner()
        self._run("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        sync = "on" if self.durable else "off"
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
        options += f" -c fsync={sync} -c full_page_writes={sync} -c synchronous_commit={sync} -c max_connections=50"
        self._run("pg_ctl", "-D", self.data, "-w", "-s", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; the mode `immediate` simulates a power failure."""
        self._run("pg_ctl", "-D", self.data, "-w", "-s", "-m", mode, "stop")

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def create(self, template: str = "template1") -> str:
        """Create a database and return its URL."""
        name = f"t{uuid4().hex}"
        sql = f'CREATE DATABASE "{name}" TEMPLATE "{template}"'
        self._run("psql", "-h", self.folder, "-p", self.port, "-U", USER, "-q", "-c", sql, "postgres")
        return self.url(name)

    def dump(self, source: str, target: str) -> None:
        """Copy a database by backup and restore, as described in the deployment guide."""
        self._run("pg_dump", "--format=custom", f"--file={self.folder}/dump", source)
        self._run("pg_restore", "--clean", "--if-exists", f"--dbname={target}", self.folder / "dump")

    def url(self, name: str) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{name}"

    def _set_owner(self) -> None:
        """Give the folder to the user postgres if this is root: PostgreSQL refuses to run as root."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self.folder.chmod(0o755)

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.bin / program), *map(str, arguments)]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.decode(errors='replace').strip()}")
