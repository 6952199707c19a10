"""Help that teaches: a command's docstring as it was written, its example included.

Click would run the lines of an example together.
"""

from collections.abc import Sequence
from inspect import cleandoc
from itertools import dropwhile
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

# For every command and group: the short option too, and lines as long as a terminal's.
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

# The error of whoever misspells a word; typer exports only a kind of it.
MISUSE = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


class TaughtCommand(TyperCommand):
    """A command whose help is its docstring, line by line."""

    def parse_args(self, ctx: Any, args: Any) -> Any:  # noqa: ANN401
        """Refuse an option that is said twice where only one would be heard."""
        words = list(args)
        rest = super().parse_args(ctx, args)
        require_one_voice(self, ctx, words)
        return rest

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

    def parse_args(self, ctx: Any, args: Any) -> Any:  # noqa: ANN401
        """Say of a command's option that stands before the command where it belongs."""
        words = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except MISUSE as error:
            option = getattr(error, "option_name", None)
            if option is None:
                raise
            behind = dropwhile(lambda word: not word.startswith(option), words)
            command = self.having(list(behind), option)
            if command is None:
                raise
            msg = (
                f"{option} stands before `{command}`, whose option it is: write "
                f"`{ctx.command_path} {command} {option}`"
            )
            raise MISUSE(msg, ctx) from error
        require_one_voice(self, ctx, words)
        return rest

    def having(self, words: Sequence[str], option: str) -> str | None:
        """Return the words of the command that `words` call, if it has such an option."""
        name = next((word for word in words if word in self.commands), None)
        if name is None:
            return None
        command = self.found(name)
        if isinstance(command, TaughtGroup):
            inner = command.having(words[words.index(name) + 1 :], option)
            return None if inner is None else f"{name} {inner}"
        has = [spelled for each in command.params for spelled in each.opts]
        return name if option in has else None

    def found(self, name: str) -> Any:  # noqa: ANN401 - click's own
        """Return a command with its options."""
        return self.commands[name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List the commands with their first sentences, none of them cut short."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, summary_of(self.get_command(ctx, name)))
                    for name in self.list_commands(ctx)
                ]
            )


def require_one_voice(command: Any, ctx: Any, words: Sequence[str]) -> None:  # noqa: ANN401
    """Refuse an option of one value that stands twice, and a flag beside its opposite."""
    if ctx.resilient_parsing:
        return
    *_, order = command.make_parser(ctx).parse_args(list(words))
    for option in (each for each in command.params if order.count(each) > 1):
        name = max(option.opts, key=len)
        if not option.multiple and not option.is_flag and not option.count:
            msg = f"{name} stands twice, and takes one value: leave one out"
            raise MISUSE(msg, ctx)
        against = [word for word in option.secondary_opts if word in words]
        if against and name in words:
            msg = f"{name} and {against[0]} exclude each other: leave one out"
            raise MISUSE(msg, ctx)


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
