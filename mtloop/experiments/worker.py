"""A child process that runs one job: `python -m mtloop.experiments.worker`.

The first line of standard input is the job as JSON. The parent keeps standard input open. When the parent ends, even
by `kill -9`, the input ends, and the child stops: nothing writes to a trace that a restarted parent resumes.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from typing import Any

from mtloop.core.errors import MtloopError
from mtloop.core.log import logger
from mtloop.experiments.runners import EXIT_INPUT_ERROR, Job


def main() -> None:
    """Read a job, run it, and exit with code 2 and one line on stderr if the input is wrong."""
    fields = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    logger.setLevel(logging.ERROR)  # the parent has already warned
    try:
        job_from_json(fields).run()
    except (MtloopError, OSError) as error:
        print(f"mtloop: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(EXIT_INPUT_ERROR if isinstance(error, MtloopError) else 1)


def job_from_json(fields: dict[str, Any]) -> Job:
    """Restore a job from its `kind` and its fields."""
    kind = fields.pop("kind")
    if kind == "run":
        from mtloop.experiments.run import ExperimentJob

        return ExperimentJob.from_json(fields)
    if kind == "bandit":
        from mtloop.experiments.bandit_task import BanditJob

        return BanditJob.from_json(fields)
    from mtloop.experiments.join import ParticipantJob

    return ParticipantJob.from_json(fields)


def _exit_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin.buffer: Python cannot end while a thread holds its lock
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
