"""The command line: a file per verb, results on stdout, progress and warnings on stderr.

Nothing heavy is imported before a verb runs: `mtloop VERB --help` answers at once.
"""

from __future__ import annotations

import importlib
import sys

import click

from mtloop import __version__
from mtloop.core.errors import MtloopError, UnknownName

VERBS = {
    "run": "translate a stream and learn from each correction; killed at any moment, it goes on where it was",
    "compare": "several learning methods on one stream: the tables of the 2019 paper, and the report",
    "tune": "find a method's best settings on one part of a stream, and report on a part not seen",
    "score": "score translations and traces: quality, how fast the system learns, significance",
    "report": "one HTML file with curves, slopes, tables and segments to browse, and pictures",
    "select": "replay human ratings: which policy finds the best systems, and with how few of them",
    "campaign": "set up a rating campaign over several systems' outputs, and see where it stands",
    "rate": "rate translations of a campaign in the terminal; leave and come back at any time",
    "translate": "translate standard input, with what was learned if a delta is given",
    "model": "convert, inspect, and choose what learns",
    "train": "train a model from parallel text: Marian, or Thot (--engine smt)",
    "serve": "run shared tasks: sources one by one, a reward for each translation, a leaderboard",
    "task": "create shared tasks, stop them, open their results, take out what was done",
    "participant": "who may take part in shared tasks: add, rotate and revoke keys",
    "join": "take part in a task that a service runs; killed at any moment, it goes on where it was",
    "bandit": "methods that learn from one number, on one task: the 2017 paper's table and figures",
    "learn-offline": "learn from rewards that were given before, and say what it would have earned",
    "demo": "let the embedded model learn the demo document with every method, and compare them",
}

GOING_ON = dict.fromkeys(("compare", "tune", "bandit", "demo"), "the same command goes on where it was")
GOING_ON |= dict.fromkeys(("run", "join", "train"), "the same command with --resume goes on where it was")


class Verbs(click.Group):
    """Loads a verb's module when it is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = importlib.import_module(f"mtloop.cli.{name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], VERBS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, package_name="mtloop")
def cli() -> None:
    """Machine translation that learns from every correction, and the instruments that prove it does."""


def main(arguments: list[str] | None = None) -> None:
    """Run a verb. A user's mistake is one line on stderr and exit code 2."""
    try:
        cli.main(arguments, prog_name="mtloop", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.message, err=True)
        sys.exit(2)
    except (MtloopError, click.ClickException) as error:
        fail(error)
    except click.Abort:
        verb = next(iter(arguments if arguments is not None else sys.argv[1:]), "")
        if verb in GOING_ON:
            click.echo(f"mtloop: interrupted; {GOING_ON[verb]}", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        fail(MtloopError(f"{error.filename}: {error.strerror}" if error.filename else str(error)))


def fail(error: MtloopError | click.ClickException) -> None:
    """Say what went wrong in one line, and leave."""
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    click.echo(f"mtloop: {' '.join(text.split())}", err=True)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
    sys.exit(2)
