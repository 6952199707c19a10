"""The options that all imports share."""

from typing import Annotated

import typer

from ledger.errors import UsageError
from ledger.ids import parse_version


def _versioned(suite: str) -> str:
    """Return a suite's version; raise `UsageError` for a name that none can have."""
    try:
        parse_version(suite)
    except ValueError as error:
        msg = f"--suite {error}: write small letters, digits and hyphens, then @v and a number"
        raise UsageError(msg) from None
    return suite


Out = Annotated[
    str,
    typer.Option(
        metavar="FILE", help="Where the drafts, or the suite, go; - is stdout."
    ),
]
SuiteToml = Annotated[
    bool, typer.Option("--suite-toml", help="Print a suite that takes such drafts.")
]
Suite = Annotated[
    str,
    typer.Option(metavar="NAME@vN", callback=_versioned, help="Into which suite."),
]
Issuer = Annotated[str, typer.Option(metavar="NAME", help="Who opens questions.")]
SealedBy = Annotated[str, typer.Option(metavar="NAME", help="Who forecasts.")]
Resolver = Annotated[str, typer.Option(metavar="NAME", help="Who resolves.")]
Owner = Annotated[str, typer.Option(metavar="NAME", help="Who freezes the suite.")]
