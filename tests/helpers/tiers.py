"""Cases of a parametrised test that only the slow run has."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet


def slow(*values: object) -> ParameterSet:
    """Mark one case as slow; its test keeps at least one quick case."""
    return pytest.param(*values, marks=pytest.mark.slow)
