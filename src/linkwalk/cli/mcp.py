"""``linkwalk mcp``: the wiki as tools for a language model."""

import sys
from importlib.util import find_spec
from typing import Annotated

from typer import Option

from linkwalk.cli.options import BuiltWiki, EmbeddingsName, EncoderName, Rerank, option
from linkwalk.cli.serve import check_named, leave_at_ctrl_c
from linkwalk.errors import InputError


def mcp(
    wiki: BuiltWiki,
    stdio: Annotated[
        bool,
        Option("--stdio", help="Speak on standard input and output, as clients start it. [default]"),
    ] = False,
    http: Annotated[
        int | None,
        option(
            "PORT",
            "Listen at http://127.0.0.1:PORT/mcp instead; 0: any port that is free.",
            min=0,
            max=65535,
        ),
    ] = None,
    host: Annotated[
        str,
        option("ADDRESS", "Where to listen, with --http; there are no passwords."),
    ] = "127.0.0.1",
    embeddings: EmbeddingsName = None,
    encoder: EncoderName = None,
    rerank: Rerank = None,
) -> None:
    """Give a language model the wiki as tools: search, open, links, navigate, find_evidence.

    A client of the Model Context Protocol starts this command and speaks with it. Answers are a paragraph long, and
    say by which clicks they were found.

    Example: linkwalk mcp encyclopedia

    Example: linkwalk mcp encyclopedia --http 8001
    """
    if stdio and http is not None:
        raise InputError("--stdio and --http: choose one of them")
    if http is None and host != "127.0.0.1":
        raise InputError("--host is for --http: add --http PORT")
    if find_spec("mcp") is None:
        raise InputError("mcp is not installed: pip install 'linkwalk[mcp]'")
    from linkwalk.serve.listening import listen, url_of
    from linkwalk.serve.mcp import run_http, run_stdio
    from linkwalk.wiki import Wiki

    opened = Wiki.open(wiki, embeddings=embeddings, rerank=rerank)
    check_named(opened)
    for line in opened.missing().values():
        print(line, file=sys.stderr)
    leave_at_ctrl_c()
    if http is None:
        run_stdio(opened)
        return
    listening = listen(host, http, "--http")
    print(f"{opened.graph.snapshot}: {url_of(listening)}/mcp   (Ctrl-C ends it)", file=sys.stderr, flush=True)
    run_http(opened, listening, host)
