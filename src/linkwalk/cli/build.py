"""``linkwalk build``: a source, such as a wiki dump, becomes a graph."""

import os
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from linkwalk.cli.options import Json, NewWiki, Quiet, argument, option
from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.errors import InputError
from linkwalk.progress import Progress


def build(
    dumps: Annotated[
        list[Path],
        argument(
            "DUMP",
            "MediaWiki exports (.xml, .xml.bz2, .xml.gz, .xml.xz; several parts of one wiki are read in order), "
            "JSON lines with `title` and `text` (.jsonl, packed or not), a folder of Markdown or HTML, a ZIM file, a "
            "web archive (.warc, .warc.gz). The words `demo` and `demo2` stand for the two editions of the bundled "
            "encyclopedia.",
        ),
    ],
    output: NewWiki,
    format: Annotated[
        str | None,
        option(
            "NAME",
            "What is read: `mediawiki`, `jsonlines`, `markdown`, `html`, `zim`, `warc`, or a source of your own "
            "as package.module:Name. [default: told by the files]",
        ),
    ] = None,
    language: Annotated[
        str,
        option("CODE", "The text's language, such as `de`. [default: what the source says]"),
    ] = "",
    block_words: Annotated[int, option("N", "Words in a block, about.", min=10, max=1000)] = 100,
    min_chars: Annotated[int, option("N", "Leave out pages with fewer characters of text.", min=0)] = 20,
    prose_only: Annotated[
        bool, Option("--prose-only", help="Drop lists and captions too, as the paper did.")
    ] = False,
    keep_tables: Annotated[
        bool | None,
        Option(
            "--keep-tables/--drop-tables",
            help="Tables, each row a sentence with its links, or none. [default: kept, but for MediaWiki's]",
        ),
    ] = None,
    keep_list_pages: Annotated[
        bool, Option("--keep-list-pages", help='Keep pages titled "List of ...".')
    ] = False,
    keep_code: Annotated[bool, Option("--keep-code", help="Keep blocks of code, line by line.")] = False,
    markup: Annotated[
        str,
        option("NAME", "What the text of JSON lines is written in: `plain`, `wikitext`, `markdown`."),
    ] = "plain",
    main: Annotated[
        str,
        option("NAME", "What finds the own text of a page of HTML: `rule`, or `trafilatura`."),
    ] = "rule",
    no_entity_links: Annotated[
        bool,
        Option("--no-entity-links", help="Only the links that authors set: no links for mentions."),
    ] = False,
    no_contents: Annotated[
        bool,
        Option(
            "--no-contents", help="No links up and down between the pages of a folder or a table of contents."
        ),
    ] = False,
    backlinks: Annotated[
        bool, Option("--backlinks", help="For every link one back, from the page that it leads to.")
    ] = False,
    anchors: Annotated[
        Path | None,
        option("WIKI", "Learn which words link where from this workspace as well."),
    ] = None,
    workers: Annotated[int | None, option("N", "Worker processes. [default: one per core]", min=1)] = None,
    strict: Annotated[bool, Option("--strict", help="Fail on damaged input instead of warning.")] = False,
    force: Annotated[bool, Option("--force", help="Replace a graph of other input or options.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Turn linked text, a wiki dump or a folder of notes, into a graph of paragraph blocks and the links between them.

    The build is atomic and resumable: if it is stopped, the same command goes on where it was.
    What was left out, and why, stands in WIKI/graph/ledger.json.

    Example: linkwalk build demo -o encyclopedia

    Example: linkwalk build simplewiki-pages-articles.xml.bz2 -o simple

    Example: linkwalk build docs/ -o docs-graph
    """
    from linkwalk.build.build import BuildConfig
    from linkwalk.build.build import build as run
    from linkwalk.build.read import ExtractConfig
    from linkwalk.shipped import dump_path
    from linkwalk.sources.formats import open_source
    from linkwalk.sources.source import MAINS, MARKUPS, ReadConfig

    if prose_only and keep_tables:
        raise InputError("--prose-only drops what --keep-tables keeps: give one of them")
    if anchors is not None and no_entity_links:
        raise InputError("--anchors serves entity links, which --no-entity-links turns off: give one of them")
    if markup not in MARKUPS:
        raise InputError(f"no markup {markup!r}: there are {', '.join(MARKUPS)}")
    if main not in MAINS:
        raise InputError(f"--main {main} is none: there are {', '.join(MAINS)}")
    reading = ReadConfig(
        language=language,
        tables=keep_tables,
        code=keep_code,
        main=main,
        markup=markup,
        contents=not no_contents,
    )
    result = run(
        [open_source(dump_path(str(dump)) or dump, format, reading) for dump in dumps],
        output,
        BuildConfig(
            extract=ExtractConfig(
                block_words=block_words,
                min_chars=min_chars,
                prose_only=prose_only,
                keep_tables=bool(keep_tables),
                keep_list_pages=keep_list_pages,
            ),
            entity_links=not no_entity_links,
            contents=not no_contents,
            backlinks=backlinks,
        ),
        anchors=anchors,
        workers=workers or os.cpu_count() or 1,
        strict=strict,
        force=force,
        progress=Progress(quiet=quiet),
    )
    if json:
        about = {"ledger": result.ledger, "costs": result.costs.rounded()}
        print_json({"workspace": str(result.workspace), **result.manifest, **about})
        return
    if not result.fresh:
        print(f"{output} is up to date: the same input and options made it (--force builds it again)")
    _print_summary(result.manifest, result.ledger)
    print_next(f"linkwalk stats {output}")


def _print_summary(manifest: dict[str, Any], ledger: dict[str, Any]) -> None:
    counts, pages, links = manifest["counts"], ledger["pages"], ledger["links"]
    kinds = counts["edges_by_kind"]
    skipped = ", ".join(f"{n:,} {reason}" for reason, n in pages["skipped"].items())
    unresolved = sorted(links["unresolved"].items(), key=lambda item: -item[1])
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in unresolved if reason != "total")
    chain = kinds["prev"] + kinds["next"]
    names = {"contents": "contents", "backlink": "backlinks"}
    beside = "".join(f"{kinds[kind]:,} {name}, " for kind, name in names.items() if kinds.get(kind))
    degree = counts["edges"] / max(1, counts["nodes"])
    print_table(
        [
            ("wiki", f"{manifest['snapshot']['name']} {manifest['snapshot']['date']}".strip()),
            (
                "pages",
                f"{pages['read']:,} read, {pages['kept']:,} kept" + (f" (out: {skipped})" if skipped else ""),
            ),
            ("blocks", f"{counts['nodes']:,}"),
            (
                "edges",
                f"{counts['edges']:,}: {kinds['link']:,} links, {kinds['entity']:,} entity links, {beside}"
                f"{chain:,} previous/next; {degree:.1f} a block",
            ),
            (
                "links",
                f"{links['seen']:,} seen, {links['resolved']['total']:,} resolved"
                + (f" (not: {reasons})" if reasons else ""),
            ),
        ]
    )
