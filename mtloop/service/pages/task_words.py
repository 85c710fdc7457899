"""What a task page says about the rules and the reward of its task."""

from __future__ import annotations

from mtloop.service.tasks.models import SharedTask

_MEANINGS = {
    "wmt17": "It is the BLEU score of your sentence in lower case: the share of its words and word sequences that the "
    "reference has too. 1 is the reference itself; an empty text gets 0.",
    "sbleu": "It is the BLEU score of your sentence, divided by 100: the share of its words and word sequences that "
    "the reference has too.",
    "bleu": "It is the BLEU score of your sentence, divided by 100: the share of its words and word sequences that the "
    "reference has too.",
    "chrf": "It is the chrF score of your sentence, divided by 100: how many of its short character sequences the "
    "reference has, and the other way round. So a word with a wrong ending still counts in part.",
    "ter": "It is 1 minus the edits per word (TER) that turn your sentence into the reference, and never below 0. "
    "1 means that nothing has to be changed.",
}


def reward_meaning(task: SharedTask) -> str:
    """The reward of a task in words."""
    return _MEANINGS.get(
        task.reward, f"It is the score {task.reward}, which compares your sentence with the reference."
    )


def pass_rule(task: SharedTask) -> str:
    """How often a run may go through the task, and when it is ranked."""
    passes = "as often as you like" if not task.max_passes else _times(task.max_passes)
    runs = "" if not task.max_runs else f" You may start {_count(task.max_runs, 'run')}."
    return f"A run may go through the task {passes}.{runs} {_KINDS[task.kind]}"


_KINDS = {
    "mock": "It is a mock task: try your program here.",
    "dev": "It is a dev task: choose your settings here.",
    "training": "It is the task that counts. Its results are shown when the organiser opens them.",
}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
