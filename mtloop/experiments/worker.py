"""A child process that runs one job; `runners.Processes` starts it.

The first line of standard input is the job as JSON. The parent keeps standard input open. When the parent ends, even
by `kill -9`, the input ends, and the child stops: nothing writes to a trace that a restarted parent resumes.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from mtloop.core.errors import InputError, MtloopError
from mtloop.core.log import PREFIX, log_to_stderr
from mtloop.experiments.bandit_task import BanditJob
from mtloop.experiments.join import ParticipantJob
from mtloop.experiments.opposites import OppositesJob
from mtloop.experiments.run import ExperimentJob
from mtloop.experiments.runners import EXIT_INPUT_ERROR, EXIT_INTERRUPTED, EXIT_STOPPED, Job
from mtloop.translation.fill_files import FillJob

JOBS: dict[str, type[ExperimentJob | BanditJob | OppositesJob | ParticipantJob | FillJob]] = {
    job.kind: job for job in (ExperimentJob, BanditJob, OppositesJob, ParticipantJob, FillJob)
}


def main() -> None:
    """Read a job and run it. An error is one line on stderr; the exit code says whether the input was wrong."""
    fields = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    log_to_stderr()
    try:
        job_from_json(fields).run()
    except (MtloopError, OSError) as error:
        print(f"{PREFIX}{' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(EXIT_INPUT_ERROR if isinstance(error, InputError) else EXIT_STOPPED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def job_from_json(fields: dict[str, Any]) -> Job:
    """Restore a job from its `kind` and its fields."""
    return JOBS[fields.pop("kind")].from_json(fields)


def _exit_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin.buffer: Python cannot end while a thread holds its lock
        pass
    os._exit(EXIT_STOPPED)
