"""Install the clients of other translation services, each in an environment of its own: tests run them.

Some of these packages replace or pin our dependencies, so they must not be installed beside mtloop.

    python scripts/client_environments.py FOLDER           install all
    python scripts/client_environments.py FOLDER deepl     install one
    python scripts/client_environments.py FOLDER quick     install those that `make test` runs
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
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
WEBLATE_2026 = """
aeidon==2.0.1 ahocorasick_rs==1.0.3 altcha==2.3.0 arsc-writer==0.1.0 cel-expr-python==0.1.3 celery==5.7.0
chardet==7.7.0 confusable-homoglyphs==3.3.1 crispy-bootstrap5==2026.9 cryptography==50.0.2 cssselect==1.6.0
cyrtranslit==1.2.0 dateparser==1.5.0 diff-match-patch==20241021 disposable-email-domains==0.0.293
django-appconf==1.2.0 django-celery-beat==2.1.0 django-cors-headers==4.9.0 django-crispy-forms==2.7
django-filter==26.2 django-otp-webauthn==0.10.3 django-otp==1.7.5 django-redis==7.0.0 Django[argon2]==6.1.3
djangorestframework-csv==3.0.2 djangorestframework==3.18.3 docutils==0.23 drf-spectacular[sidecar]==0.30.0
drf-standardized-errors[openapi]==0.16.0 filelock==4.2.10 fluent.syntax==0.19.0 GitPython==3.2.1 hiredis==3.5.0
httpx2==2.16.0 iniparse==0.5.3 jsonschema==4.26.0 lxml==6.1.3 mistletoe==1.6.0 nh3==0.3.7 openpyxl==3.1.5
packaging==26.3 phply==1.2.6 pillow==13.0.0 psycopg2-binary==2.9.13 pyaskalono==0.2.0 pyasn1==0.6.5 Pygments==2.21.0
pyicumessageformat==1.0.0 PyJWT==2.15.1 pyOpenSSL==26.4.0 pyparsing==3.3.3 python-dateutil==2.9.0.post0 qrcode==8.2
RapidFuzz==3.14.6 regex==2026.11.9 requests==2.34.2 ruamel.yaml==0.19.1 sentry-sdk==2.75.0 siphashc==2.9.1
social-auth-app-django==8.0.0 social-auth-core==7.0.0 standardwebhooks==1.1.0 tomlkit==0.15.2
translate-toolkit==3.20.4 translation-finder==3.10.0 turbohtml==1.15.4 ua-parser==1.0.2 unicode-segmentation-rs==1.0.0
Unidecode==1.4.0 user-agents==2.2.0 webauthn==3.0.1 weblate-fonts==2026.1 weblate-language-data==2026.11
weblate_schemas==2026.14
--no-deps weblate==2026.10.1
"""  # what its engine for OpenAI imports, as far as nothing has to be compiled
PYTHON = {  # what follows --no-deps is installed without what it depends on
    "libretranslatepy": ["libretranslatepy==2.1.4"],
    "deep-translator": ["deep-translator==1.11.4"],
    "argostranslate": ["--no-deps", "argostranslate==1.11.0"],  # its API client needs none of its large dependencies
    "translate": ["translate==3.8.1"],
    "modernmt": ["modernmt==1.5.2"],
    "deepl": ["deepl==1.32.0"],
    "weblate": WEBLATE.split(),
    "weblate-2026": WEBLATE_2026.split(),
    # for its prompts, with any Python
    "weblate-2026-prompts": ["--no-deps", "--ignore-requires-python", "--only-binary=:all:", "weblate==2026.10.1"],
    "real-files": ["--no-deps", "Django==5.2.19", "eric-ide==26.10"],  # for their translated files
}
NODE = {
    "libretranslate-node": ["libretranslate@1.0.1"],
    "modernmt-node": ["modernmt@1.5.3"],
    "deepl-node": ["deepl-node@1.28.0"],
}
QUICK = ("libretranslatepy", "deepl", "modernmt")
"""Those that install in seconds: `make test` runs them."""
NEEDS_PYTHON = {"weblate-2026": 12}
"""The least minor version of Python 3 of the clients that do not run with ours."""
LAST_PYTHON = 20  # the highest minor version of Python 3 that is looked for
DONE = "installed.txt"


def install(folder: Path, name: str) -> None:
    """Install one environment, unless it is there with the same packages."""
    packages = (PYTHON | NODE)[name]
    place, note = folder / name, "\n".join(packages)
    if (place / DONE).is_file() and (place / DONE).read_text(encoding="utf-8") == note:
        return
    python = _python(NEEDS_PYTHON.get(name, 0))
    if python is None:
        print(f"{name} is not installed: it needs Python 3.{NEEDS_PYTHON[name]} or later")
        return
    place.mkdir(parents=True, exist_ok=True)
    if name in PYTHON:
        subprocess.run([python, "-m", "venv", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for part in _calls(packages):
            subprocess.run([*pip, *part], check=True)
    else:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=place, check=True)
    (place / DONE).write_text(note, encoding="utf-8")


def _python(least: int) -> str | None:
    """The command of a Python of at least this minor version: ours, or another one of this machine."""
    if sys.version_info.minor >= least:
        return sys.executable
    return next((one for one in _pythons(least) if _runs(one, least)), None)


def _pythons(least: int) -> Iterator[str]:
    """Commands that may be a Python of at least this minor version. One of pyenv on the path may not run."""
    minors = range(least, LAST_PYTHON)
    yield from filter(None, (shutil.which(f"python3.{minor}") for minor in minors))
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for minor in minors:
        yield from map(str, sorted(versions.glob(f"3.{minor}*/bin/python3.{minor}")))


def _runs(command: str, least: int) -> bool:
    """Whether a command is a Python of at least this minor version that can make environments."""
    check = f"import ensurepip, sys, venv; sys.exit(sys.version_info < (3, {least}))"
    return subprocess.run([command, "-c", check], capture_output=True).returncode == 0


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
