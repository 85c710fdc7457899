"""How scripts begin that run Weblate's own engines (package `weblate`) without a site.

No database, settings in code, small stand-ins for libraries that have to be compiled. A unit of Weblate 5 is the mock
of Weblate's own tests. Later releases have no tests in their package, so theirs is written here, from the same classes.
"""

from __future__ import annotations

DJANGO = """
import django
from django.conf import settings
from weblate import settings_example

own = {name: getattr(settings_example, name) for name in dir(settings_example) if name.isupper()}
own |= {"SITE_DOMAIN": "localhost", "LOGGING": {}}
own |= {"CACHES": {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}}
own |= {"DATABASES": {"default": {"ENGINE": "django.db.backends.dummy"}}}
settings.configure(**own)
django.setup()
"""
START = (
    """
import json, sys
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

for name in ("cairo", "gi", "gi.repository", "tesserocr"):  # text on pictures, fonts: not used here
    sys.modules[name] = MagicMock()
"""
    + DJANGO
    + """
from django.core.cache import cache
from weblate.checks.tests.test_checks import MockUnit
from weblate.machinery.base import MachineTranslationError
from weblate.machinery.deepl import DeepLTranslation
from weblate.machinery.libretranslate import LibreTranslateTranslation
from weblate.machinery.modernmt import ModernMTTranslation
from weblate.machinery.openai import OpenAITranslation

url, key, source, other, formatted, *rest = sys.argv[1:]
patch("weblate.glossary.models.get_glossary_tsv", new=lambda _: "").start()
patch("weblate.machinery.openai.fetch_glossary_terms", new=lambda _: None).start()
patch("weblate.machinery.openai.get_glossary_terms", new=lambda *_, **__: []).start()


def engines(key):
    chat = {"model": "custom", "custom_model": "manual", "persona": "You breed squirrels", "style": ""}
    return [
        DeepLTranslation({"key": key, "url": f"{url}/deepl/v2"}),
        # it asks for the languages without a key, and the tiny model does not name them
        LibreTranslateTranslation({"key": key, "url": f"{url}/libretranslate/key/{key}/"}),
        ModernMTTranslation({"key": key, "url": f"{url}/modernmt"}),
        OpenAITranslation({"key": key, "base_url": f"{url}/openai/v1"} | chat),
    ]


def unit(text, **fields):
    return MockUnit(**{"code": "de", "source": text, "flags": "python-format,python-brace-format"} | fields)


def texts(engine, *strings, **fields):
    answers = [engine.translate(unit(text, **fields)) for text in strings]
    return [[one["text"] for one in answer[0]] if answer else [] for answer in answers]


def failed(engine, **fields):
    try:
        return texts(engine, source, **fields)
    except MachineTranslationError as error:
        return str(error)
"""
)
START_OF_2026 = (
    """
import json, sys
from unittest.mock import MagicMock, patch

for name in ("cairo", "gi", "gi.repository", "tesserocr", "cysignals", "cysignals.alarm"):
    sys.modules[name] = MagicMock()
"""
    + DJANGO
    + """
url, key, *texts = sys.argv[1:]
"""
)
UNITS_OF_2026 = (
    START_OF_2026
    + """
from types import SimpleNamespace
from django.core.cache import cache
from translate.lang.data import languages
from weblate.checks.flags import Flags
from weblate.lang.models import Language, Plural
from weblate.machinery.base import MachineTranslationError, UnsupportedLanguageError
from weblate.machinery.deepl import DeepLTranslation
from weblate.machinery.libretranslate import LibreTranslateTranslation
from weblate.machinery.modernmt import ModernMTTranslation

glossary = [""]
patch("weblate.glossary.models.get_glossary_tsv", new=lambda *_, **__: glossary[0]).start()


class NamedLanguage(Language):
    class Meta:
        proxy = True
        app_label = "lang"

    def __init__(self, code):
        super().__init__(code=code)
        self.pk = -abs(hash(code))
        _, number, formula = languages.get(code, ("", 2, "n != 1"))
        self.plural = Plural(language=self, number=number, formula=formula)


class Unit:
    translation_parent_id = missing_source_snapshot = pk = None
    translated = readonly = fuzzy = is_multivalue = is_source = is_plural = False
    note = context = explanation = ""
    state, glossary_terms = 20, []

    def __init__(self, source, code="de", source_code="en"):
        self.source = self.source_string = self.effective_source = source
        self.sources, self.targets, self.target, self.machinery = [source], [""], "", {}
        self.all_flags = self.flags = Flags("python-format,python-brace-format")
        self.check_cache = {}
        project = SimpleNamespace(id=1, slug="app", name="app", pk=1)
        component = SimpleNamespace(source_language=NamedLanguage(source_code), project=project, is_multivalue=False)
        language = NamedLanguage(code)
        self.translation = SimpleNamespace(
            language=language, plural=language.plural, component=component, id=1, pk=1, log_debug=lambda *_: None
        )

    def get_source_plurals(self):
        return self.sources

    get_effective_source_plurals = get_source_plurals

    def get_target_plurals(self):
        return self.targets

    def has_multiple_values(self, *_):
        return False


def engines(key=key):
    return [
        DeepLTranslation({"key": key, "url": f"{url}/deepl/v2/"}),
        LibreTranslateTranslation({"key": key, "url": f"{url}/libretranslate/key/{key}/"}),
        ModernMTTranslation({"key": key, "url": f"{url}/modernmt/"}),
    ]


def translations(engine, *units):
    return [[one["text"] for one in answer[0]] if (answer := engine.translate(unit)) else [] for unit in units]
"""
)
