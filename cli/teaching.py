"""Help that teaches: a command's docstring as it was written, its example included.

Click would run the lines of an example together.
"""

from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# For every command and group: the short option too, and lines as long as a terminal's.
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class TaughtCommand(TyperCommand):
    """A command whose help is its docstring, line by line."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the docstring below the usage."""
        del ctx
        write_lines(self.help, formatter)


class TaughtGroup(TyperGroup):
    """A group of commands whose help is a docstring, line by line."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the docstring below the usage."""
        del ctx
        write_lines(self.help, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List the commands with their first sentences, none of them cut short."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, summary_of(self.get_command(ctx, name)))
                    for name in self.list_commands(ctx)
                ]
            )


def summary_of(command: Any) -> str:  # noqa: ANN401 - click's own
    """Return the first line of a command's help."""
    return (command.help or "").partition("\n")[0]


def write_lines(text: str | None, formatter: Any) -> None:  # noqa: ANN401 - click's own
    """Write `text` as it stands, indented as all of the help is."""
    formatter.write("\n")
    for line in cleandoc(text or "").splitlines():
        formatter.write(f"  {line}".rstrip() + "\n")


def group() -> typer.Typer:
    """Return an empty group; its commands are added with `cls=TaughtCommand`."""
    return typer.Typer(
        cls=TaughtGroup,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings=SETTINGS,
    )
