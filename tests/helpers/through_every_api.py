"""What each API of a running server gives for one text."""

from __future__ import annotations

import httpx2
from helpers.served_projects import ServedProjects

PROMPT = """
You are a highly skilled translation assistant, adept at translating text
from language 'en'
to language 'de'
You receive an input as strings separated by a line.
"""


def through_every_api(served: ServedProjects, project: str, text: str) -> dict[str, str]:
    """The translation that each API gives, by its name."""
    key = f"{served.key}:{project}"
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": text}]
    with httpx2.Client(base_url=served.url, timeout=60) as client:
        own = client.post(
            f"/v1/projects/{project}/translate", json={"text": text}, headers={"x-api-key": served.key}
        ).json()
        libre = client.post(
            "/libretranslate/translate", json={"q": text, "source": "en", "target": "de", "api_key": key}
        ).json()
        deepl = client.post(
            "/deepl/v2/translate",
            json={"text": [text], "source_lang": "EN", "target_lang": "DE"},
            headers={"Authorization": f"DeepL-Auth-Key {key}"},
        ).json()
        modernmt = client.get(
            "/modernmt/translate", params={"q": text, "source": "en", "target": "de"}, headers={"MMT-ApiKey": key}
        ).json()
        openai = client.post(
            "/openai/v1/chat/completions",
            json={"model": project, "messages": messages},
            headers={"Authorization": f"Bearer {key}"},
        ).json()
    return {
        "own": own["translations"][0]["translation"],
        "LibreTranslate": libre["translatedText"],
        "DeepL": deepl["translations"][0]["text"],
        "ModernMT": modernmt["data"]["translation"],
        "OpenAI": openai["choices"][0]["message"]["content"],
    }
