"""The address of the service and the API key: one global object, as in the 2017 client."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Configuration:
    """`host` is the address of a task; `api_key["x-api-key"]` is the key of the participant."""

    host: str = "http://localhost:8017"
    api_key: dict[str, str] = field(default_factory=dict, repr=False)


configuration = Configuration()
