"""The glossaries of the projects that a worker served last: one of many terms takes a while to make."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mtloop.service.cache import LRUCache
from mtloop.service.project_log.models import TranslationProject
from mtloop.service.project_log.store import ProjectStore
from mtloop.text.glossary import Glossary

MAX_GLOSSARIES = 20  # in the memory of a worker


class GlossaryCache:
    """Makes the glossary of a project in a thread, once after each change."""

    def __init__(self, store: ProjectStore) -> None:
        self._store = store
        self._made: LRUCache[int, tuple[int, Glossary]] = LRUCache(MAX_GLOSSARIES)

    async def of(self, project: TranslationProject) -> Glossary:
        """The glossary of a project, ready to find terms."""
        number = await self._store.glossary_number(project.id)
        known, found = self._made.get(project.id) or (-1, None)
        if found is None or known != number:
            stored = await self._store.newest_glossary(project.id)
            number, terms = (0, {}) if stored is None else (stored.number, stored.event.terms)
            found = await asyncio.to_thread(_made, terms, project)
            self._made.update({project.id: (number, found)})
        return found

    def forget(self, project_id: int) -> None:
        """Forget the glossary of a project that was deleted."""
        self._made.remove(project_id)


def _made(terms: Mapping[str, str], project: TranslationProject) -> Glossary:
    glossary = Glossary.of(terms, project.source_language, project.target_language)
    glossary.find("term")  # makes the index of its terms
    return glossary
