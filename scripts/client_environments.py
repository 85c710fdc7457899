"""Install the clients of other translation services, each in an environment of its own: tests run them.

Some of these packages replace or pin our dependencies, so they must not be installed beside mtloop.

    python scripts/client_environments.py FOLDER           install all
    python scripts/client_environments.py FOLDER deepl     install one
    python scripts/client_environments.py FOLDER quick     install those that `make test` runs
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WEBLATE = """
aeidon==1.15 ahocorasick-rs==1.0.3 altcha==0.2.0 celery==5.5.3 crispy-bootstrap3==2024.1 crispy-bootstrap5==2025.6
cryptography==50.0.2 cssselect==1.3.0 diff-match-patch==20241021 disposable-email-domains==0.0.293
Django[argon2]==5.2.19 django-appconf==1.1.0 django-celery-beat==2.8.1 django-compressor==4.6.0
django-cors-headers==4.9.0 django-crispy-forms==2.5 django-filter==25.2 django-otp==1.7.5 django-otp-webauthn==0.7.0
django-redis==6.0.0 djangorestframework==3.16.1 docutils==0.22.4 drf-spectacular[sidecar]==0.29.0
drf-standardized-errors[openapi]==0.15.0 filelock==4.2.10 fluent.syntax==0.19.0 GitPython==3.1.62 html2text==2025.4.15
iniparse==0.5 jsonschema==4.26.0 lxml==6.0.4 mistletoe==1.5.1 nh3==0.3.7 openai==2.54.0 packaging==25.0 phply==1.2.6
pyicumessageformat==1.0.0 Pygments==2.21.0 pyparsing==3.2.5 python-dateutil==4.0.0 RapidFuzz==3.14.6 regex==2025.11.3
requests==2.32.5 ruamel.yaml==0.18.17 sentry-sdk==2.75.0 siphashc==2.9.1 social-auth-app-django==5.9.0
social-auth-core==4.8.7 standardwebhooks==1.0.1 translate-toolkit==3.16.1 translation-finder==2.24 Unidecode==1.4.0
weblate-language-data==2026.11 weblate-schemas==2025.6
--no-deps weblate==5.14.3
"""  # what its engines and its webhook add-on import; the rest of what it needs has to be compiled
PYTHON = {  # what follows --no-deps is installed without what it depends on
    "libretranslatepy": ["libretranslatepy==2.1.4"],
    "deep-translator": ["deep-translator==1.11.4"],
    "argostranslate": ["--no-deps", "argostranslate==1.11.0"],  # its API client needs none of its large dependencies
    "translate": ["translate==3.8.1"],
    "modernmt": ["modernmt==1.5.2"],
    "deepl": ["deepl==1.32.0"],
    "weblate": WEBLATE.split(),
    # for its prompts: it runs on Python 3.12 and later only
    "weblate-2026": ["--no-deps", "--ignore-requires-python", "--only-binary=:all:", "weblate==2026.10.1"],
    "real-files": ["--no-deps", "Django==5.2.19", "eric-ide==26.10"],  # for their translated files
}
NODE = {
    "libretranslate-node": ["libretranslate@1.0.1"],
    "modernmt-node": ["modernmt@1.5.3"],
    "deepl-node": ["deepl-node@1.28.0"],
}
QUICK = ("libretranslatepy", "deepl", "modernmt")
"""Those that install in seconds: `make test` runs them."""
DONE = "installed.txt"


def install(folder: Path, name: str) -> None:
    """Install one environment, unless it is there with the same packages."""
    packages = (PYTHON | NODE)[name]
    place, note = folder / name, "\n".join(packages)
    if (place / DONE).is_file() and (place / DONE).read_text(encoding="utf-8") == note:
        return
    place.mkdir(parents=True, exist_ok=True)
    if name in PYTHON:
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for part in _calls(packages):
            subprocess.run([*pip, *part], check=True)
    else:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=place, check=True)
    (place / DONE).write_text(note, encoding="utf-8")


def _calls(packages: list[str]) -> list[list[str]]:
    """The packages of each call of pip."""
    cut = packages.index("--no-deps") if "--no-deps" in packages else len(packages)
    return [part for part in (packages[:cut], packages[cut:]) if part]


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:] or [*PYTHON, *NODE]
    names = [*QUICK] if names == ["quick"] else names
    for name in names:
        if name not in PYTHON | NODE:
            raise SystemExit(f"no client {name!r}; there are {', '.join([*PYTHON, *NODE])}")
        install(folder, name)


if __name__ == "__main__":
    main()
