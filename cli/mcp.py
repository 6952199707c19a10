"""`ledger mcp`: the ledger's tools for agents that speak the Model Context Protocol."""

import os
from pathlib import Path
from typing import Annotated

from ledger.cli import drafting
from ledger.cli.drafting import option
from ledger.cli.options import LedgerDir
from ledger.errors import UncheckableError, UsageError
from ledger.keys.keyfile import read_key

_EXTRA = "ledger mcp needs the MCP SDK: pip install 'sealed-ledger[mcp]'"


def mcp(
    *,
    key: Annotated[
        str | None, option("--key", "FILE", "The forecaster's key file; required.")
    ] = None,
    forecaster: Annotated[
        str | None, option("--as", "COMPETITOR", "Who forecasts; required.")
    ] = None,
    suite: drafting.Suite = None,
    template: drafting.Template = None,
    horizon: drafting.Horizon = None,
    answers: Annotated[
        list[str] | None,
        option(
            "--answer", "NAME", "An answer, the positive one first: pass, then fail."
        ),
    ] = None,
    socket: Annotated[
        str | None,
        option("--socket", "PATH", "The daemon's socket, if it is elsewhere."),
    ] = None,
    ledger: LedgerDir = None,
) -> None:
    r"""Serve a forecaster's tools over the Model Context Protocol, on stdin and stdout.

    seal_forecast, update_forecast, my_record and status: nothing resolves or freezes.
    Needs the extra `mcp`. docs/mcp.md shows how a runtime is told of it.

    For example:
      ledger mcp --ledger demo --key ~/.piper/native.key --as native --suite piper-self@v1 \
        --template dispatch-pass --horizon 24h
    """
    try:
        from ledger.daemon.mcp import Place, server
    except ImportError as error:
        # It is absent, or older than its server class.
        raise UncheckableError(f"{_EXTRA} ({error})") from None
    if key is None or forecaster is None:
        msg = "say who forecasts: --key FILE and --as COMPETITOR"
        raise UsageError(msg)
    read_key(Path(key))
    place = Place(
        ledger=ledger,
        socket=socket,
        key=key,
        forecaster=forecaster,
        suite=suite,
        template=template,
        horizon=horizon,
        answers=tuple(answers or ("pass", "fail")),
        environment=os.environ,
    )
    server(place).run("stdio")
