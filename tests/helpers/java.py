"""Compiles and runs the Java client."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "clients" / "java" / "src"
JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp")  # options for a fast start


def compile_java(folder: Path, *further: Path) -> Path:
    """Compile the client and further files to `folder` and return it; a warning is an error."""
    files = [*sorted(SOURCES.rglob("*.java")), *further]
    command = [
        "javac",
        "-J-XX:TieredStopAtLevel=1",
        "-J-XX:+UseSerialGC",
        "-proc:none",
        "--release",
        "17",
        "-Xlint:all",
        "-Werror",
        "-d",
        folder,
        *files,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
