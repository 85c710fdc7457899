"""Which models and methods a project may use: those that the operator allows, and never a program or a file.

An engine checks with `EnginePool.check` what only the learner itself knows: whether it can be made with its settings.
"""

from __future__ import annotations

from collections.abc import Mapping

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.data.languages import pair_name, same_languages
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.learner_config import LearnerConfig
from mtloop.methods.method import Method
from mtloop.methods.neural import canonical_name
from mtloop.methods.own import is_own_engine
from mtloop.methods.registry import find_method, plugin_points
from mtloop.service.problems import NOT_ALLOWED_HERE, ProblemError, invalid_request
from mtloop.service.project_log.event_log import Configured
from mtloop.service.projects.setting_limits import check_limits
from mtloop.service.settings import Settings


def configuration(
    settings: Settings, model: str, method: str, chosen: Mapping[str, JSON], review: bool
) -> tuple[Configured, tuple[str, str]]:
    """The checked configuration of a project, and the languages of its model.

    It raises 403 for what the operator does not allow, and for a setting that names a file. It raises 422 for a method
    or a setting that does not exist, and for a value that no project may have.
    """
    models, methods = _names(settings.models), _names(settings.methods)
    model, method = model or models[0], method or methods[0]
    if model not in models or is_own_engine(method) or method in plugin_points():
        raise ProblemError(NOT_ALLOWED_HERE)
    try:
        found = find_method(method)
        if found.name not in map(canonical_name, methods) or _names_file(found, chosen):
            raise ProblemError(NOT_ALLOWED_HERE)
        used = model if found.engine.loads_model else ""
        config = LearnerConfig.create(found.name, used, chosen)
        values = {name: config.settings[name] for name in chosen}
        check_limits(values)
        languages = config.languages
    except InputError as error:
        raise ProblemError(invalid_request(str(error))) from None
    return Configured(used, found.name, values, review), languages


def _names_file(method: Method, chosen: Mapping[str, JSON]) -> bool:
    return any(value and name in method.settings and method.settings[name].names_file for name, value in chosen.items())


def chosen_pair(settings: Settings, asked: tuple[str, str], found: tuple[str, str]) -> tuple[str, str]:
    """The languages of a project: those that it asks for, else those of its model.

    It raises 422 if the model does not translate them; the problem names the pairs there are.
    """
    wanted = asked[0] or found[0], asked[1] or found[1]
    if not all(wanted):
        raise ProblemError(invalid_request("this model does not say its languages; send both languages"))
    if not same_languages(wanted, found):
        pairs = ", ".join(sorted({pair_name(*pair) for pair in allowed_pairs(settings)}))
        raise ProblemError(invalid_request(f"no model for {pair_name(*wanted)}; there are: {pairs}"))
    return wanted


def allowed_pairs(settings: Settings) -> list[tuple[str, str]]:
    """The languages of all models that a project may use."""
    return [LearnerConfig.create(DEFAULT_METHOD, model).languages for model in _names(settings.models)]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
