"""Types, protocols, the loop and the trace. Standard library only."""

from mtloop.core.errors import InputError, MissingExtra, MtloopError, SerialisationError, TraceError, UnknownName
from mtloop.core.loop import Blocks, Delay, Each, Schedule, replay, run
from mtloop.core.protocols import Choice, Interactive, Judge, Learner, Metric, Policy, Stateful, Stop, Stream
from mtloop.core.record import record
from mtloop.core.trace import Header, Trace, TraceWriter
from mtloop.core.types import (
    Feedback,
    Learned,
    PostEdit,
    Preference,
    Proposal,
    Reward,
    Score,
    Scores,
    Segment,
    Step,
    Truth,
)

__all__ = [
    "Blocks",
    "Choice",
    "Delay",
    "Each",
    "Feedback",
    "Header",
    "InputError",
    "Interactive",
    "Judge",
    "Learned",
    "Learner",
    "Metric",
    "MissingExtra",
    "MtloopError",
    "Policy",
    "PostEdit",
    "Preference",
    "Proposal",
    "Reward",
    "Schedule",
    "Score",
    "Scores",
    "Segment",
    "SerialisationError",
    "Stateful",
    "Step",
    "Stop",
    "Stream",
    "Trace",
    "TraceError",
    "TraceWriter",
    "Truth",
    "UnknownName",
    "record",
    "replay",
    "run",
]
