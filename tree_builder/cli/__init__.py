"""The command `tree-builder`. Commands are loaded when called, so that `--help` stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from tree_builder.errors import ConfigError, TreeBuilderError

COMMANDS = {
    "build": ("build", "Bring a corpus's tree up to date with its folder, and publish it."),
    "status": ("operate", "Corpora, documents by status with reasons, last runs."),
    "check": ("operate", "Verify the laws in the database; exit 1 when one is broken."),
    "memo": ("operate", "Size of the kept answers of models; --prune removes what no kept run needs."),
    "summary": ("reading", "The summary of the corpus, a directory or a document."),
    "tree": ("reading", "The tree as a picture."),
    "search": ("reading", "Search by meaning and by words."),
    "walk": ("reading", "Walk from the root down to what a query is about."),
    "context": ("reading", "The passages which answer a query best, within a budget of tokens."),
    "show": ("reading", "One node: content, place, parents, children, pages."),
    "similar": ("reading", "Nodes which are like a node."),
    "diff": ("reading", "What came, went and changed between two runs."),
    "db": ("db", "The database in use: url, migrate, psql."),
    "demo": ("demo", "Build a folder and show what was made of it."),
}


class LazyGroup(click.Group):
    """A group whose commands live in modules which are imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 as click hands it over
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = cmd_name
        if name not in COMMANDS:
            return None
        if ctx.resilient_parsing or "--help" in sys.argv[1:2]:
            return click.Command(name, short_help=COMMANDS[name][1], help=COMMANDS[name][1])
        module = importlib.import_module(f"tree_builder.cli.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; `tree-builder --help` lists the commands"
            raise ConfigError(f"there is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="tree-builder", prog_name="tree-builder")
def cli() -> None:
    """A folder of documents as a tree of summaries in PostgreSQL, kept true night after night."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 all well, 1 check found a broken law, 3 some documents failed, 4 wrong use, 5 nothing published, 75 taken."""
    try:
        code = cli.main(args=None if argv is None else list(argv), standalone_mode=False)
    except TreeBuilderError as error:
        code = _say(str(error), error.exit_code)
    except click.ClickException as error:
        code = _say(error.format_message(), ConfigError.exit_code)
    except (click.Abort, KeyboardInterrupt):
        code = _say("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _say(message: str, code: int) -> int:
    click.echo(f"tree-builder: {message}", err=True)
    return code
