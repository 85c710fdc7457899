"""Where the service is and who calls: one object for the whole program, as it was in 2017."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Configuration:
    """`host` is the address of a task; `api_key["x-api-key"]` the participant's key."""

    host: str = "http://localhost:8017"
    api_key: dict[str, str] = field(default_factory=dict, repr=False)


configuration = Configuration()
