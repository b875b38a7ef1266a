"""``linkwalk embed``: every block becomes a vector."""

import re
from pathlib import Path
from typing import Annotated

from typer import Option

from linkwalk.cli.options import BuiltWiki, Json, Quiet, option
from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.errors import InputError
from linkwalk.progress import Progress


def embed(
    wiki: BuiltWiki,
    encoder: Annotated[
        str | None,
        option(
            "minilm-walks|minilm|words|random|NAME|PATH|PART",
            "minilm-walks: all-MiniLM-L6-v2, trained on walks of many wikis, together with the policy that ships; "
            "it reads English. minilm: the same, as its package has it. words: made from the wiki's own text (TF-IDF "
            "and a singular value decomposition), reads any language, far quicker. random: unit vectors that know "
            "nothing of the text. Or any Hugging Face model by name or folder, or an encoder of your own, "
            "package.module:Name. [default: minilm-walks if the wiki is in English, else words]",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str,
        option("D", "auto, cpu, cuda, cuda:N or mps; auto takes a GPU if there is one."),
    ] = "auto",
    name: Annotated[
        str | None,
        option("NAME", "Name of the embeddings in the workspace. [default: the encoder's]"),
    ] = None,
    tanh: Annotated[bool, Option("--tanh", help="tanh of the mean over tokens, as in the paper.")] = False,
    max_tokens: Annotated[
        int, option("N", "Read at most N tokens of a block's title and text.", min=3)
    ] = 200,
    seed: Annotated[int, option("N", "Seed of --encoder random and words.", min=0)] = 0,
    batch_tokens: Annotated[
        int | None,
        option("N", "Tokens computed at once. [default: 512 on a CPU, 131072 on a GPU]", min=1),
    ] = None,
    only_shards: Annotated[
        str | None,
        option(
            "A:B",
            "Make only the shards A to B-1, to share the work between machines; a shard is 4096 blocks.",
        ),
    ] = None,
    import_shards: Annotated[
        list[Path] | None,
        option("DIR", "Take the shards that another machine left in DIR (WIKI/embeddings/NAME.partial)."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace embeddings and shards of other options.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Embed every block: its title and text become a vector, in half precision.

    A transformer's vector is the mean over tokens. Unless an encoder is named, the wiki's language decides; where it
    is not known, the text does: it is English if 5 % of its words are English's small ones (the, of, and, ...).

    Resumable: if it is stopped, the same command goes on from its finished shards.

    Example: linkwalk embed WIKI

    Example: linkwalk embed WIKI --encoder words

    Example: linkwalk embed WIKI --encoder random --seed 1 --name random-1
    """
    from linkwalk.embed.job import EmbedConfig
    from linkwalk.embed.job import embed as run
    from linkwalk.embed.store import choose
    from linkwalk.graph.store import Graph

    if encoder is not None and not encoder.strip():
        raise InputError("--encoder is empty: name one, or leave the option out")
    shards = re.fullmatch(r"(\d+):(\d+)", only_shards or "")
    if only_shards is not None and shards is None:
        raise InputError(
            f"--only-shards {only_shards}: give two numbers, as in 0:4 for the first four shards"
        )
    result = run(
        wiki,
        EmbedConfig(encoder=encoder or "", max_tokens=max_tokens, tanh=tanh, seed=seed),
        name=name,
        device=device,
        batch_tokens=batch_tokens,
        only=shards and (int(shards[1]), int(shards[2])),
        imports=import_shards or (),
        force=force,
        progress=Progress(quiet=quiet),
    )
    manifest = result.manifest
    if json:
        print_json(
            {
                "workspace": str(result.workspace),
                "name": result.name,
                "complete": manifest is not None,
                "shards": {
                    "total": result.shards,
                    "made": result.made,
                    "imported": result.imported,
                    "missing": result.missing,
                },
                **({"why": result.why} if result.why else {}),
                **(manifest or {"partial": str(result.partial)}),
            }
        )
        return
    if manifest is None:
        options = {"--encoder": encoder, "--name": name, "--import-shards": result.partial.name}
        given = "".join(f" {option} {value}" for option, value in options.items() if value)
        print(f"{result.shards - result.missing} of {result.shards} shards are in {result.partial}")
        print("copy that folder to the machine that has the others and give it there:")
        print_next(f"linkwalk embed {wiki}{given}")
        return
    if not result.made + result.imported:
        print(f"{result.name} is up to date: the same graph and options made it (--force makes it again)")
    print_table(
        [
            ("wiki", f"{manifest['snapshot']['name']} {manifest['snapshot']['date']}".strip()),
            ("encoder", manifest["encoder"] + (f": {result.why}" if result.why else "")),
            ("vectors", f"{manifest['nodes']:,} x {manifest['width']}, half precision"),
            ("in", str(wiki / "embeddings" / result.name)),
        ]
    )
    others = choose(wiki, Graph.open(wiki)) != result.name
    print_next(f"linkwalk eval {wiki}" + f" --embeddings {result.name}" * others)
