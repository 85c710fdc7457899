"""`mtloop project`: create and manage projects, over HTTP or on the service's database."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from mtloop.cli._database import administration
from mtloop.cli._options import PATH, database_options, format_option, parse_settings
from mtloop.cli._project import key_file_option, use_key
from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras
from mtloop.core.plural import pluralise
from mtloop.core.types import JSON

if TYPE_CHECKING:
    from mtloop.client import Client, Project
    from mtloop.service.administration import Administration

F = TypeVar("F", bound=Callable[..., Any])
ROLES = ("translate", "confirm", "organise")
URL_HELP = "Address of the service, such as http://localhost:8017."
EPILOG = """
\b
Examples:
  mtloop project create manual --owner ann --folder data           (on the database of the service)
  mtloop project create manual --url http://localhost:8017         (over HTTP; the key is in MTLOOP_KEY)
  mtloop project import manual memory.tmx --url http://localhost:8017
  mtloop project import http://localhost:8017/manual memory.tmx    (the same)
  mtloop project stats manual --url http://localhost:8017
  mtloop project export manual --out manual.tmx --folder data
  mtloop project members manual --set ben=confirm --folder data
  mtloop project rebuild manual --folder data
  mtloop project webhook manual --url http://localhost:8017
  mtloop project rm manual --folder data
\b
With --url a command asks a running service, with your API key: MTLOOP_KEY, or --key-file. A project can also be named
by its address, http://HOST/PROJECT, in place of --url. Without both, a command works on the database (--folder or
--database), without a key; the service need not run. Commands that need an engine, and those that read your files,
work with a service only.
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Create, list and delete projects; import and export their corrections; show what they learned."""


def place_options(command: F) -> F:
    """Add the options that say where the projects are: a service, or its database."""
    text = f"{URL_HELP} Without it, the command works on the database."
    return click.option("--url", help=text)(key_file_option(database_options(cast("F", _with_address(command)))))


def service_options(command: F) -> F:
    """Add the options of a command that needs a running service."""

    @wraps(command)
    def on_service(**options: Any) -> Any:
        if options["url"] is None:
            raise InputError("this command asks a service; give --url, or name the project http://HOST/PROJECT")
        return command(**options)

    return click.option("--url", help=URL_HELP)(key_file_option(cast("F", _with_address(on_service))))


def _with_address(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take a project by its address, http://HOST/PROJECT, in place of its name and --url."""

    @wraps(command)
    def called(**options: Any) -> Any:
        if "://" in (address := options.get("name", "")):
            if options["url"] is not None:
                raise InputError(
                    f"{address!r} is the address of a project; give --url with a name, or the address alone"
                )
            need_extras("client")
            from mtloop.client.project_client import split_address

            options["url"], options["name"] = split_address(address)
        return command(**options)

    return called


@command.command()
@click.argument("name")
@click.option("--model", default="", help="Model of the project.  [default: the first that the service allows]")
@click.option("--method", default="", help="Method of the project; see mtloop methods.  [default: that of the service]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of the method. Repeat for more.")
@click.option("--review", is_flag=True, help="Learn a confirmation only after an organiser accepted it.")
@click.option("--source-lang", default="", metavar="CODE", help="Source language.  [default: that of the model]")
@click.option(
    "--target-lang",
    "--lang",
    "target_lang",
    default="",
    metavar="CODE",
    help="Target language.  [default: that of the model]",
)
@click.option(
    "--owner", metavar="PARTICIPANT", help="Who may organise it, with the database. With --url it is the key's owner."
)
@place_options
def create(
    name: str, model: str, method: str, pairs: tuple[str, ...], review: bool, source_lang: str, target_lang: str,
    owner: str | None, **place: Any,
) -> None:  # fmt: skip
    """Create a project.

    On the database you may name every model and method. A server must allow the model and the method too before others
    can create such projects.
    """
    settings = parse_settings(pairs)
    if place["url"]:
        if owner:
            raise InputError("--owner is for the database; over HTTP the owner of the key organises the project")
        fields = {"model": model, "method": method, "settings": dict(settings), "review": review}
        with _client(**place) as client:
            made: Any = client.create_project(
                name,
                source_language=source_lang,
                target_language=target_lang,
                **fields,  # type: ignore[arg-type]
            )
    else:
        languages = source_lang, target_lang
        options: dict[str, Any] = {"model": model, "method": method, "settings": settings, "review": review}
        made = _database(**place).create_project(name, owner, languages=languages, **options)
    click.echo(f"{made.name}: {made.source_language}-{made.target_language}, {made.method} on {made.model}")


@command.command("list")
@place_options
def list_(**place: Any) -> None:
    """List projects: yours with --url, all of the database without it."""
    from tabulate import tabulate

    if place["url"]:
        with _client(**place) as client:
            rows = [(*_row(one), one.state, one.role or "") for one in client.projects()]
    else:
        rows = [(*_row(one), one.number, "") for one in _database(**place).projects()]
    headers = ["name", "languages", "model", "method", "events", "role"]
    click.echo(tabulate(rows, headers=headers, tablefmt="plain"))


def _row(one: Any) -> tuple[str, str, str, str]:
    return one.name, f"{one.source_language}-{one.target_language}", one.model, one.method


@command.command("import")
@click.argument("name")
@click.argument("file", type=PATH)
@click.option("--no-wait", is_flag=True, help="Do not wait until the corrections are learned.")
@service_options
def import_(name: str, file: Path, no_wait: bool, **place: Any) -> None:
    """Add the pairs of a TMX, TSV or PO file to the corrections of a project, and wait until they are learned.

    The same file twice adds nothing the second time. Pairs that may not be learned are kept, with the reason.
    """
    from tqdm import tqdm

    with _project(name, **place) as project:
        found = project.import_file(file)
        skipped = "".join(f", {count} skipped ({reason})" for reason, count in found.skipped.items())
        lacking = found.missing_placeholders
        skipped += f", {lacking} without a placeholder of the source" if lacking else ""
        click.echo(f"{name}: {found.new} new, {found.known} known, {found.refused} refused{skipped}")
        if not no_wait:
            with tqdm(desc="learning", unit=" corrections", delay=1, leave=False, disable=None) as bar:
                project.wait(found.job, lambda progress: _show_progress(bar, progress.learned, progress.counted))


def _show_progress(bar: Any, done: int, total: int) -> None:
    bar.total, bar.n = total, done
    bar.refresh()


@command.command()
@click.argument("name")
@click.option("--out", type=PATH, required=True, help="File to write: .tmx or .tsv.")
@place_options
def export(name: str, out: Path, **place: Any) -> None:
    """Write the corrections of a project that count to a file, in order."""
    if place["url"]:
        kind = out.suffix.lower().removeprefix(".")
        if kind not in ("tmx", "tsv"):
            raise InputError("cannot be written; expected .tmx or .tsv", path=out)
        if out.exists():
            raise InputError("already exists; choose another name", path=out)
        with _project(name, **place) as project:
            out.write_bytes(project.export("tmx" if kind == "tmx" else "tsv"))
    else:
        _database(**place).export_project(name, out)
    click.echo(out)


@command.command()
@click.argument("name")
@click.option(
    "--last", default=1000, show_default=True, type=click.IntRange(1, 5000), help="Number of corrections to measure."
)
@format_option("table", "json")
@service_options
def stats(name: str, last: int, output_format: str, **place: Any) -> None:
    """Show what learning did: effort (TER), new words (R0, R1), repeated errors, harm to similar sentences.

    Every number stands beside that of the base model, which never learned.
    """
    from tabulate import tabulate

    with _project(name, **place) as project:
        found: Any = project.statistics(last)
    if output_format == "json":
        click.echo(json.dumps(found, ensure_ascii=False, indent=1))
        return
    click.echo(f"{name}: {pluralise(found['corrections'], 'correction')}, {found['measured']} with a proposal")
    rows = [
        (one["name"], _shown(one), _shown(one["base"]) if one["base"] else "", one["signature"])
        for one in found["metrics"]
    ]
    click.echo(
        tabulate(rows, headers=["metric", "project", "base", "signature"], tablefmt="plain", disable_numparse=True)
    )


def _shown(score: Any) -> str:
    return "0/0" if score["value"] is None else f"{score['value']:.2f}"


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@place_options
def rm(name: str, yes: bool, **place: Any) -> None:
    """Delete a project with everything that belongs to it: corrections, snapshots, roles."""
    question = f"Delete project {name!r} with all its corrections?"
    if place["url"]:
        with _project(name, **place) as project:
            project.info()
            _ask(question, yes)
            project.delete()
    else:
        service = _database(**place)
        service.project(name)
        _ask(question, yes)
        service.delete_project(name)
    click.echo(f"{name}: deleted")


def _ask(question: str, yes: bool) -> None:
    if not yes:
        click.confirm(question, abort=True, err=True)


@command.command()
@click.argument("name")
@database_options
def rebuild(name: str, folder: Path | None, database: str | None) -> None:
    """Delete the snapshots of a project, so that it is learned again from its log.

    It works on the database of this machine and has no --url: a service would go on with what its engine has in memory.
    Stop the service first, or restart it afterwards.
    """
    count = administration(folder, database).forget_snapshots(name)
    click.echo(f"{name}: {pluralise(count, 'snapshot')} deleted; the project is learned again from its log")


@command.command()
@click.argument("name")
@click.option(
    "--set", "given", multiple=True, metavar="PARTICIPANT=ROLE", help=f"Give a role: {', '.join(ROLES)}. Repeat."
)
@click.option("--remove", multiple=True, metavar="PARTICIPANT", help="Take the role of a participant away. Repeat.")
@place_options
def members(name: str, given: tuple[str, ...], remove: tuple[str, ...], **place: Any) -> None:
    """Show who may do what in a project, and change it.

    A member may translate; or translate and confirm; or organise, which is everything.
    """
    changes: dict[str, str | None] = dict(map(_parse_member, given)) | dict.fromkeys(remove)
    found = _members_of_service(name, changes, **place) if place["url"] else _members(name, changes, **place)
    for participant, role in sorted(found.items()):
        click.echo(f"{participant}\t{role}")


def _members_of_service(name: str, changes: dict[str, str | None], **place: Any) -> dict[str, str]:
    with _project(name, **place) as project:
        for participant, role in changes.items():
            if role is None:
                project.remove_member(participant)
            else:
                project.set_member(participant, role)
        return project.members()


def _members(name: str, changes: dict[str, str | None], **place: Any) -> dict[str, str]:
    service = _database(**place)
    from mtloop.service.project_log.models import Role

    for participant, role in changes.items():
        service.set_member(name, participant, None if role is None else Role(role))
    return {participant: str(role) for participant, role in service.members(name).items()}


def _parse_member(pair: str) -> tuple[str, str]:
    participant, _, role = pair.partition("=")
    if not participant or role not in ROLES:
        raise InputError(f"--set expects PARTICIPANT=ROLE, with the role {', '.join(ROLES)}, not {pair!r}")
    return participant, role


@command.command()
@click.argument("name")
@click.option("--show", is_flag=True, help="Show who made the secret, when, and whether it works.")
@click.option("--remove", is_flag=True, help="Remove the secret: the webhook teaches nothing any more.")
@service_options
def webhook(name: str, show: bool, remove: bool, **place: Any) -> None:
    """Make a new secret for Weblate's webhook add-on, and show it with the address. Both go into Weblate.

    The secret is shown once, and replaces an earlier one. What Weblate sends is learned in your name, while your key is
    valid: a revoked or expired key stops the secrets that were made with it.
    """
    if show and remove:
        raise InputError("--show and --remove: choose one")
    with _project(name, **place) as project:
        if show:
            click.echo(_webhook_line(name, project.webhook()))
            return
        if remove:
            project.remove_webhook()
            click.echo(f"{name}: webhook removed")
            return
        secret, address = project.new_webhook()
    click.echo(f"address: {place['url'].rstrip('/')}{address}")
    click.echo(f"secret: {secret}")


def _webhook_line(name: str, state: Mapping[str, JSON]) -> str:
    if state.get("participant") is None:
        return f"{name}: no webhook"
    works = "works" if state.get("works") else "does not work: its maker's key or role is gone; make a new secret"
    return f"{name}: made by {state['participant']}, {state['created']}; {works}"


def _client(url: str, key_file: Path | None, folder: Path | None = None, database: str | None = None) -> Client:
    _check_place(folder, database)
    need_extras("client")
    from mtloop.client import Client
    from mtloop.client.project_client import key_or_variable

    use_key(key_file)
    return Client(url, key_or_variable(None))


def _project(
    name: str, url: str, key_file: Path | None, folder: Path | None = None, database: str | None = None
) -> Project:
    _check_place(folder, database)
    need_extras("client")
    from urllib.parse import quote

    from mtloop.client import Project

    use_key(key_file)
    return Project(f"{url.rstrip('/')}/{quote(name, safe='')}")


def _check_place(folder: Path | None, database: str | None) -> None:
    if folder is not None or database is not None:
        raise InputError("give --url for a service, or --folder or --database for its database, not both")


def _database(url: str | None, key_file: Path | None, folder: Path | None, database: str | None) -> Administration:
    if key_file is not None:
        raise InputError("--key-file is the key for a service; give --url too")
    return administration(folder, database)
