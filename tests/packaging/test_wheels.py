"""The wheels of mtloop and of its model: what they contain, and that they work outside the repository.

Tests download nothing, so the new environment gets the two wheels without their dependencies. A `.pth` file lets it
import the dependencies from the environment of the tests. That environment also knows the checkout, as an editable
install. Python does not read the `.pth` files of a folder that is itself named in a `.pth` file, so the checkout stays
out of the path; `test_the_wheels_are_imported_and_not_the_checkout` makes sure.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

ROOT = Path(__file__).parents[2]
SOURCES = "Save the file.\nOpen the window.\n"
REFERENCES = "Speichern Sie die Datei.\nÖffnen Sie das Fenster.\n"
MODEL_FILES = {
    "config.json",
    "model.safetensors",
    "source.spm",
    "target.spm",
    "vocab.json",
    "seen-words.npy",
    "README.md",
}

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Built:
    """The wheel and the source archive of one project."""

    wheel: Path
    source: Path

    def names(self) -> set[str]:
        with ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def metadata(self) -> Metadata:
        """Return the wheel's metadata. A field that breaks the standard raises an error."""
        with ZipFile(self.wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return Metadata.from_email(archive.read(name), validate=True)

    def source_names(self) -> set[str]:
        """Return the files of the source archive, without its top folder."""
        with tarfile.open(self.source) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}


@dataclass(frozen=True)
class Installed:
    """An environment with both wheels, and an empty folder to work in."""

    prefix: Path
    folder: Path

    def run(self, program: str, *arguments: str, stdin: str = "") -> str:
        """Run a program of the environment with no other environment variables, and return what it prints."""
        clean = {"PATH": f"{self.prefix / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        command = [str(self.prefix / "bin" / program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=clean, input=stdin, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")


def build(project: Path, folder: Path) -> Built:
    """Build with the installed hatchling, so that nothing is downloaded."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=300)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, source)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(ROOT, tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(ROOT / "models" / "en-de", tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def installed(package: Built, model: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    prefix = tmp_path_factory.mktemp("installed") / "env"
    venv.create(prefix, symlinks=True)
    python = str(prefix / "bin" / "python")
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-compile"]
    command = [sys.executable, "-m", "pip", "--python", python, "install", *options]
    subprocess.run([*command, str(package.wheel), str(model.wheel)], check=True, timeout=300)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(prefix)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return Installed(prefix, tmp_path_factory.mktemp("empty"))


def test_the_wheel_has_every_file_of_the_package_and_no_tests(package: Built) -> None:
    names = package.names()
    wanted = [path for path in (ROOT / "mtloop").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT).as_posix() for path in wanted} <= names
    folders = ["report/templates", "report/assets", "service/pages/templates", "service/pages/assets", "demo"]
    for folder in [*folders, "service/migrations/versions"]:
        assert any(name.startswith(f"mtloop/{folder}/") for name in names), folder
    assert {"mtloop/py.typed", "mtloop/experiments/opposites.en-de.tsv"} <= names
    assert {name.split("/")[0] for name in names} == {"mtloop", f"mtloop-{package.metadata().version}.dist-info"}


def test_the_source_archive_has_the_tests_and_no_model(package: Built) -> None:
    names = package.source_names()
    assert {"pyproject.toml", "LICENSE", "mtloop/py.typed", "tests/packaging/test_wheels.py"} <= names
    assert [name for name in names if name.startswith(("models/", ".venv/", "out/"))] == []


def test_the_wheel_of_the_model_has_its_files_and_licences(model: Built) -> None:
    names = model.names()
    assert {f"mtloop_en_de/{name}" for name in MODEL_FILES} <= names
    licences = {name.rpartition("/")[2] for name in names if ".dist-info/licenses/" in name}
    assert licences == {"LICENSE", "LICENSE-training-data.txt"}


def test_the_extra_names_the_model_of_this_repository(package: Built, model: Built) -> None:
    (wanted,) = (line for line in package.metadata().requires_dist or () if line.name == model.metadata().name)
    assert str(wanted.marker) == 'extra == "en-de"'
    assert model.metadata().version in wanted.specifier


def test_the_metadata_names_licence_and_description(package: Built, model: Built) -> None:
    for built in (package, model):
        metadata = built.metadata()
        assert metadata.license_expression is not None
        assert metadata.license_expression.startswith("Apache-2.0")
        assert metadata.description_content_type == "text/markdown"
        assert metadata.description
        assert metadata.summary


def test_the_wheels_are_imported_and_not_the_checkout(installed: Installed) -> None:
    code = "import sys, mtloop, mtloop_en_de; print(mtloop.__file__, mtloop_en_de.__file__, *sys.path, sep='\\n')"
    package, model, *path = map(Path, installed.run("python", "-c", code).splitlines())
    assert package.is_relative_to(installed.prefix)
    assert model.is_relative_to(installed.prefix)
    assert ROOT not in path


def test_the_version_is_that_of_the_wheel(installed: Installed, package: Built) -> None:
    assert str(package.metadata().version) in installed.run("mtloop", "--version")


def test_translate_score_and_report_in_an_empty_folder(installed: Installed) -> None:
    translated = installed.run("mtloop", "translate", stdin=SOURCES)
    assert len(translated.splitlines()) == len(SOURCES.splitlines())
    assert "Datei" in translated
    installed.write("hyp.txt", translated)
    installed.write("ref.txt", REFERENCES)
    texts = ["--ref", "ref.txt", "--hyp", "hyp.txt", "--target-lang", "de"]
    assert "BLEU" in installed.run("mtloop", "score", *texts)
    installed.run("mtloop", "report", *texts, "--out", "report.html")
    assert "</html>" in (installed.folder / "report.html").read_text(encoding="utf-8")
