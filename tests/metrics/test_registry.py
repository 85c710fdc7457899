"""Metrics by name."""

from __future__ import annotations

import re

import pytest

from mtloop.core import UnknownName
from mtloop.metrics.registry import MetricOptions, make_metric


def test_every_name_of_the_error_message_can_be_used() -> None:
    options = MetricOptions(language="de")
    with pytest.raises(UnknownName) as error:
        make_metric("blue", options)
    names = re.sub(r".*known: ", "", str(error.value)).split(", ")
    assert {"bleu", "r2", "r3", "slope-ca", "slope-u-bleu"} <= set(names)
    for name in set(names) - {"oov", "regret"}:  # these two need a file
        assert make_metric(name, options).name
