"""The options that all imports share."""

from typing import Annotated

import typer

Out = Annotated[
    str,
    typer.Option(
        metavar="FILE", help="Where the drafts, or the suite, go; - is stdout."
    ),
]
SuiteToml = Annotated[
    bool, typer.Option("--suite-toml", help="Print a suite that takes such drafts.")
]
Suite = Annotated[str, typer.Option(metavar="NAME@vN", help="Into which suite.")]
Issuer = Annotated[str, typer.Option(metavar="NAME", help="Who opens questions.")]
SealedBy = Annotated[str, typer.Option(metavar="NAME", help="Who forecasts.")]
Resolver = Annotated[str, typer.Option(metavar="NAME", help="Who resolves.")]
Owner = Annotated[str, typer.Option(metavar="NAME", help="Who freezes the suite.")]
