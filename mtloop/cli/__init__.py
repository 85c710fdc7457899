"""The command line: one file per command, results on stdout, progress and warnings on stderr.

Heavy modules are imported when a command runs, so that `mtloop COMMAND --help` is fast.
"""

from __future__ import annotations

import importlib
import sys

import click

from mtloop import __version__
from mtloop.core.errors import MtloopError, UnknownName
from mtloop.core.extras import extra_of
from mtloop.core.log import log_to_stderr

COMMANDS = {
    "run": "translate a stream and learn from each correction; an interrupted run can be resumed",
    "compare": "compare several learning methods on one stream: tables with significance, and a report",
    "opposites": "teach a lesson, then translate its opposite: is the lesson known, and does it harm others?",
    "tune": "search for the best settings of a method on one part of a stream, and report on another part",
    "score": "score translations and traces: quality, speed of learning, significance",
    "stats": "measure files: segments, words, lengths, repetition, unknown words, what files share",
    "report": "write one HTML file with learning curves, slopes, tables and all segments",
    "methods": "list the learning methods, or show one method with its settings",
    "select": "replay human ratings: compare policies that find the best systems with few ratings",
    "campaign": "create a rating campaign over the outputs of several systems, and show its status",
    "rate": "rate translations of a campaign in the terminal; continue at any time",
    "translate": "fill in the translations of files, or translate standard input line by line",
    "work": "translate a file in the terminal; the engine learns from every confirmed translation",
    "model": "convert or inspect a model, or choose the tensors that method `fixed` updates",
    "train": "train a model from parallel text: Marian, or Thot (--engine smt)",
    "serve": "serve projects that people translate and correct, and shared tasks, over HTTP",
    "project": "create, list and delete projects of a server; import and export their corrections; statistics",
    "task": "create, stop and delete shared tasks, publish their results, export traces",
    "participant": "add participants of shared tasks; create, renew and revoke their API keys",
    "audit": "show what organisers did on a service: who, when and what",
    "join": "take part in a shared task of a service; an interrupted run can be resumed",
    "bandit": "compare methods that learn from rewards on one task: a table and figures like those of the 2017 paper",
    "learn-offline": "learn from logged rewards, and estimate the reward of the learned model",
    "demo": "run seven methods on the demo document with the embedded model, and compare them",
}

RESUME_HINTS = dict.fromkeys(("compare", "tune", "bandit", "demo"), "run the same command again to resume")
RESUME_HINTS["work"] = "nothing is lost; run the same command again to go on"
RESUME_HINTS |= dict.fromkeys(("run", "join", "train"), "run the same command with --resume to continue")


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"mtloop.cli.{name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, package_name="mtloop")
def cli() -> None:
    """Machine translation that learns from every correction, and the instruments that prove it does."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command. An error in the input prints one line on stderr and exits with code 2."""
    log_to_stderr()
    try:
        typed = tuple(sys.argv[1:] if arguments is None else arguments)
        cli.main(arguments, prog_name="mtloop", standalone_mode=False, obj=typed)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.message, err=True)
        sys.exit(2)
    except (MtloopError, click.ClickException) as error:
        fail(error)
    except click.Abort:
        command = next(iter(arguments if arguments is not None else sys.argv[1:]), "")
        if command in RESUME_HINTS:
            click.echo(f"mtloop: interrupted; {RESUME_HINTS[command]}", err=True)
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = extra_of(error)
        if missing is None:
            raise
        fail(missing)
    except BrokenPipeError:  # the reader of the output closed the pipe, e.g. `| head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        fail(MtloopError(f"{error.filename}: {error.strerror}" if error.filename else str(error)))


def fail(error: MtloopError | click.ClickException) -> None:
    """Print the error as one line on stderr, and exit with code 2."""
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    click.echo(f"mtloop: {' '.join(text.split())}", err=True)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
    sys.exit(2)
