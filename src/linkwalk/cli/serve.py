"""``linkwalk serve`` and ``mcp``: a wiki for browsers and programs, and as tools for a language model."""

import os
import signal
import sys
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from linkwalk.cli.options import BuiltWiki, EmbeddingsName, EncoderName, OpenPage, Rerank, option
from linkwalk.errors import InputError

if TYPE_CHECKING:
    from linkwalk.wiki import Wiki


def serve(
    wiki: BuiltWiki,
    host: Annotated[
        str,
        option(
            "ADDRESS",
            "Where to listen. Other machines are let in by an address of this one, or 0.0.0.0 for all of them; "
            "there are no passwords.",
        ),
    ] = "127.0.0.1",
    names: Annotated[
        list[str] | None,
        option(
            "NAME",
            "A name that the server goes by, may be repeated; requests for others are refused. "
            "[default: any; localhost's own where --host lets this machine in alone]",
            "--name",
        ),
    ] = None,
    port: Annotated[int, option("N", "0: any that is free.", min=0, max=65535)] = 8000,
    workers: Annotated[
        int,
        option("N", "Processes; what they map of the wiki is in memory once.", min=1, max=64),
    ] = 1,
    runs: Annotated[
        Path | None,
        option("FILE", "Keep finished games here: a line of JSON each, added at the end."),
    ] = None,
    open_page: OpenPage = False,
    embeddings: EmbeddingsName = None,
    encoder: EncoderName = None,
    rerank: Annotated[
        str | None,
        option(
            "HOW",
            "Who ranks sentences where a question does not say: cross, tfidf, none, or the folder of a reranker. "
            "[default: cross with MiniLM's embeddings, or else tfidf]",
        ),
    ] = None,
    lazy: Annotated[
        bool,
        Option("--lazy", help="Open agents and models when first asked for, not at the start."),
    ] = False,
    at_once: Annotated[
        int,
        option(
            "N",
            "Walks at work at once in each worker. More threads take turns; more --workers add up.",
            min=1,
            max=256,
        ),
    ] = 1,
    waiting: Annotated[
        int,
        option("N", "Requests that may wait for them; the next gets a 503.", min=0, max=100_000),
    ] = 128,
    seconds: Annotated[
        float,
        option("S", "Time for an answer, waiting included; then a 504.", min=0.1, max=3600),
    ] = 30,
    budget: Annotated[int, option("B", "Most steps of a walk.", "--max-budget", min=1, max=1_000_000)] = 1000,
    query: Annotated[
        int,
        option("N", "Most characters of a question.", "--max-query", min=1, max=100_000),
    ] = 2000,
    body: Annotated[
        int,
        option("BYTES", "Largest body of a request.", "--max-body", min=1, max=1 << 30),
    ] = 65536,
    reading: Annotated[
        float,
        option("S", "Time for a client to send its headers, and again for a body.", min=0.1, max=3600),
    ] = 10,
    idle: Annotated[
        int,
        option("S", "How long a connection without a request is kept.", min=1, max=3600),
    ] = 15,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Print a line for every request.")] = False,
) -> None:
    """Serve a wiki: a page where agents click their way through it, and the HTTP API behind it.

    The page is at /, the API is described at /docs, numbers for Prometheus are at /metrics. Ctrl-C ends it.

    Example: linkwalk serve encyclopedia --open
    """
    _need("serve", "fastapi", "uvicorn", "prometheus_client")
    from linkwalk.serve.api import health_of
    from linkwalk.serve.boundary import Limits
    from linkwalk.serve.listening import listen, url_of
    from linkwalk.serve.server import serve as run
    from linkwalk.serve.workers import Settings
    from linkwalk.wiki import Wiki

    limits = Limits(
        body=body,
        budget=budget,
        query=query,
        at_once=at_once,
        waiting=waiting,
        seconds=seconds,
        reading=reading,
        idle=idle,
    )
    opened = Wiki.open(wiki, embeddings=embeddings, rerank=rerank)
    if runs is not None:
        try:
            runs.open("ab").close()
        except OSError as error:
            raise InputError(f"cannot write games to {runs}: {error.strerror}") from None
    _check_named(opened)
    health = health_of(opened, budget)
    listening = listen(host, port)
    url = url_of(listening)
    graph = opened.graph
    settings = Settings(
        wiki=str(wiki),
        limits=limits,
        runs=None if runs is None else str(runs),
        embeddings=embeddings,
        encoder=encoder,
        rerank=rerank,
        warm=not lazy,
        names=own_names(host, names),
        graph=graph.fingerprint,
    )
    _leave_at_ctrl_c()
    print(f"{graph.snapshot}: {graph.articles:,} articles, {graph.nodes:,} blocks, {graph.edges:,} links")
    if health.embeddings is not None:
        print(f"  embeddings: {health.embeddings}; sentences are ranked by {health.rerank}")
    print(f"  agents: {', '.join(opened.agents)}")
    for missing in health.missing.values():
        print(f"  {missing}")
    if runs is not None:
        print(f"  games are kept in {runs}")
    print(f"\n{url}   (the API: {url}/docs; Ctrl-C ends it)", flush=True)
    if open_page:
        import webbrowser

        webbrowser.open(url)
    # Mapped here, a graph would take its place on the disk even when workers have a newer one.
    del opened, graph
    run(settings, listening, workers, verbose=verbose)
    os._exit(0)


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
    _need("mcp", "mcp")
    from linkwalk.serve.listening import listen, url_of
    from linkwalk.serve.mcp import run_http, run_stdio
    from linkwalk.wiki import Wiki

    opened = Wiki.open(wiki, embeddings=embeddings, rerank=rerank)
    _check_named(opened)
    for line in opened.missing().values():
        print(line, file=sys.stderr)
    _leave_at_ctrl_c()
    if http is None:
        run_stdio(opened)
        return
    listening = listen(host, http, "--http")
    print(f"{opened.graph.snapshot}: {url_of(listening)}/mcp   (Ctrl-C ends it)", file=sys.stderr, flush=True)
    run_http(opened, listening, host)


def _check_named(wiki: "Wiki") -> None:
    """What was named must be there; what was not may be missing, and will be said to be."""
    from linkwalk.wiki.rerankers import check_reranker

    check_reranker(wiki.ranks)
    if wiki.embeddings is not None and (line := wiki.missing().get("navigate")):
        raise InputError(line)


def _leave_at_ctrl_c() -> None:
    """From here on there is nothing to lose, and a KeyboardInterrupt in the middle of anything is only noise.

    Threads may still be reading a model, for whoever would have asked: they are not worth waiting for either.
    """
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))


def own_names(host: str, names: list[str] | None) -> tuple[str, ...]:
    """What the server answers to: a page from elsewhere must not get in by naming this machine after itself."""
    try:
        alone = ip_address(host).is_loopback
    except ValueError:
        alone = host == "localhost"
    return (*(names or ()), *(("localhost", "127.0.0.1", "::1", host) if alone or names else ()))


def _need(extra: str, *packages: str) -> None:
    """Say what to install where a package of some extra is missing."""
    for name in packages:
        if find_spec(name) is None:
            raise InputError(f"{name} is not installed: pip install 'linkwalk[{extra}]'")
