"""The encoder that is made from the wiki's own text, beside plain ways of doing the same."""

import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from linkwalk.artifact import faults
from linkwalk.embed import EmbedConfig, Embeddings, embed, svd, words
from linkwalk.embed.store import carry
from linkwalk.embed.terms import count_terms
from linkwalk.embed.text import node_texts
from linkwalk.errors import DamagedError, InputError
from linkwalk.graph.split import nodes_of_half, split
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from tests.embed.conftest import TEXTS, pages
from tests.graph.conftest import Page, write_graph

QUIET = Progress(quiet=True)
WORDS = EmbedConfig(encoder="words", width=16, shard_blocks=8)


def number(term: str) -> int:
    """A term's number: a word alone in a text, or the pair or three that two or three characters make in the end."""
    return int(words.count_terms([term]).terms[0]) if len(term) != 3 or term[0] < "\u0e00" else three(term)


def three(term: str) -> int:
    """The number of three characters: what is left of their terms without those of the two pairs in them."""
    pairs = {number(term[:2]), number(term[1:])}
    (own,) = set(count_terms([term]).terms.tolist()) - pairs
    return own


def counted(text: str) -> Counter[int]:
    found = count_terms([text])
    return Counter(dict(zip(found.terms.tolist(), found.times.tolist(), strict=True)))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The river, the RIVER; a the", ["the", "river", "the", "river", "a", "the"]),
        ("Москва́ и МОСКВА́ — naïve café", ["москва́", "и", "москва́", "naïve", "café"]),
        ("Straße ΣΊΣΥΦΟΣ σίσυφος 3rd", ["straße", "σίσυφοσ", "σίσυφοσ", "3rd"]),
        ("東京都は水", ["東京", "京都", "都は", "は水", "東京都", "京都は", "都は水"]),
        ("水。山 x東", ["水", "山", "x", "東"]),
        ("ไทย", ["ไท", "ทย", "ไทย"]),
        ("हिन्दी 한국어 العَرَبِيَّة", ["हिन्दी", "한국어", "العَرَبِيَّة"]),
        ("🙂 … \ud800 —", []),
        ("", []),
    ],
)
def test_which_terms_a_text_has(text: str, terms: list[str]) -> None:
    assert counted(text) == Counter(map(number, terms))


def test_accents_are_kept_and_cases_are_not() -> None:
    assert number("Resume") == number("resume") != number("résumé") == number("RÉSUMÉ")


def test_weights_are_those_of_scikit_learn() -> None:
    texts = [*TEXTS, *(f"{text} {TEXTS[0]} {TEXTS[-1]}" for text in TEXTS)]
    having = Counter(term for text in texts for term in set(count_terms([text]).terms.tolist()))
    terms, idf = words._vocabulary(
        lambda a, b: texts[a:b], len(texts), ThreadPoolExecutor(2), Progress(quiet=True)
    )
    assert terms.tolist() == sorted(term for term, count in having.items() if count >= 2)
    piece = words.weighed(texts, terms, idf)
    ours = csr_array((piece.values, piece.columns, piece.bounds), (len(texts), len(terms)))
    plain = TfidfVectorizer(
        tokenizer=lambda text: (
            [w for w in re.findall(r"\w+", text) if not re.search("[東京]", w)] + re.findall("東京", text)
        ),
        token_pattern=None,
        sublinear_tf=True,
        min_df=2,
    ).fit_transform(texts)
    assert np.abs((ours @ ours.T).toarray() - (plain @ plain.T).toarray()).max() < 1e-5


def matrix(rank: int, rows: int = 300, columns: int = 80) -> np.ndarray:
    rng = np.random.default_rng(1)
    return (rng.standard_normal((rows, rank)) * 0.9 ** np.arange(rank)) @ rng.standard_normal((rank, columns))


def pieces(whole: np.ndarray, size: int) -> list[svd.Sparse]:
    parts = (csr_array(whole[at : at + size].astype(np.float32)) for at in range(0, len(whole), size))
    return [svd.Sparse(p.indptr.astype(np.int64), p.indices.astype(np.int32), p.data) for p in parts]


def test_singular_vectors_are_those_of_numpy() -> None:
    whole = matrix(60)
    with ThreadPoolExecutor(2) as pool:
        found = svd.leading(lambda: pieces(whole, 77), 80, 10, passes=8, extra=20, seed=3, pool=pool)
    _, values, vectors = np.linalg.svd(whole)
    assert np.abs(found.values / values[:10] - 1).max() < 1e-3
    assert np.abs(np.abs(np.sum(found.vectors.T * vectors[:10], axis=1)) - 1).max() < 1e-2


def test_a_matrix_of_low_rank_has_no_more_directions() -> None:
    whole = matrix(3)
    with ThreadPoolExecutor(2) as pool:
        found = svd.leading(lambda: pieces(whole, 300), 80, 10, passes=3, extra=6, seed=0, pool=pool)
    assert np.isfinite(found.vectors).all()
    assert (np.linalg.norm(found.vectors, axis=0) > 0.5).tolist() == [True] * 3 + [False] * 7


def test_neither_pieces_nor_threads_matter(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted() -> words.WordProjection:
        return words.fit(lambda a, b: node_texts(graph, a, b), graph.nodes, width=8, seed=0, progress=QUIET)

    before = fitted()
    monkeypatch.setattr(words, "_PIECE", 3)
    monkeypatch.setattr(words, "cores", lambda: 5)
    monkeypatch.setattr(svd, "_COLUMNS", 5)
    monkeypatch.setattr(svd, "_SHARE", 2)
    for one, other in zip(before, fitted(), strict=True):
        assert np.array_equal(one, other)
    encoder, texts = words.WordsEncoder(before), node_texts(graph, 0, graph.nodes)
    together = encoder.encode(texts)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in texts]))


def test_a_large_wiki_counts_its_commonest_terms_and_is_fitted_to_a_part(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    having = Counter(
        term for text in node_texts(graph, 0, graph.nodes) for term in set(count_terms([text]).terms.tolist())
    )
    monkeypatch.setattr(words, "TERMS", 12)
    monkeypatch.setattr(words, "FITTED", 8)
    monkeypatch.setattr(words, "_RUN", 2)
    assert words._sample(graph.nodes) == [(0, 2), (6, 8), (12, 14), (18, 20)]
    found = words.fit(lambda a, b: node_texts(graph, a, b), graph.nodes, width=4, seed=0, progress=QUIET)
    assert 0 < len(found.terms) <= 12
    least = min(having[term] for term in found.terms.tolist())
    assert {term for term, count in having.items() if count >= least} == set(found.terms.tolist())


def test_what_it_learned_is_kept_beside_the_vectors(graph: Graph, tmp_path: Path) -> None:
    result = embed(tmp_path / "wiki", WORDS)
    assert result.manifest is not None
    table = Embeddings.open(tmp_path / "wiki", "words", graph)
    assert (table.width, table.manifest["encoder"]) == (16, "words")
    assert set(table.manifest["files"]) == {
        "vectors.npy",
        "words_idf.npy",
        "words_projection.npy",
        "words_terms.npy",
    }
    assert np.allclose(np.linalg.norm(table.vectors.astype(np.float32), axis=1), 1, atol=1e-2)
    read = table.encoder().encode(node_texts(graph, 0, graph.nodes, words.TITLES))
    assert np.abs(read - table.vectors).max() < 1e-3
    nothing, river = table.encoder().encode(["xyzzy", "the Danube in the Black Forest"])
    assert not nothing.any()
    best = graph.texts[int(np.argmax(table.vectors @ river))]
    assert "Danube" in best
    again = embed(tmp_path / "wiki", WORDS)
    assert again.made == 0


def test_stopped_after_learning_it_goes_on_from_there(graph: Graph, tmp_path: Path) -> None:
    script = f"""
import os
from linkwalk.embed import EmbedConfig, embed
from linkwalk.embed.shards import Shards
Shards.write = lambda *_: os._exit(9)
embed({str(tmp_path / "wiki")!r}, EmbedConfig(encoder="words", width=16, shard_blocks=8))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    partial = tmp_path / "wiki" / "embeddings" / "words.partial"
    words_fit, calls = words.fit, []

    def counting(*args: object, **options: object) -> words.WordProjection:
        calls.append(args)
        return words_fit(*args, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("linkwalk.embed.job.fit", counting)
        embed(tmp_path / "wiki", WORDS)
    assert not calls
    assert not partial.exists()
    whole = Embeddings.open(tmp_path / "wiki", "words").vectors
    embed(tmp_path / "wiki", WORDS, name="anew")
    assert np.array_equal(whole, Embeddings.open(tmp_path / "wiki", "anew").vectors)


def test_damage_is_named(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", WORDS)
    folder = tmp_path / "wiki" / "embeddings" / "words"
    (folder / "words_terms.npy").write_bytes((folder / "words_terms.npy").read_bytes()[:-4])
    with pytest.raises(DamagedError, match=r"words_terms.npy is damaged .* embed .* --encoder words --force"):
        Embeddings.open(tmp_path / "wiki", "words")
    assert [fault.path.name for fault in faults(folder, "embeddings")] == ["words_terms.npy"]


def test_a_half_reads_with_what_the_whole_has_learned(graph: Graph, tmp_path: Path) -> None:
    embed(tmp_path / "wiki", WORDS)
    whole = Embeddings.open(tmp_path / "wiki", "words", graph)
    half = split(graph, tmp_path / "halves")[0]
    part = Graph.open(half.workspace)
    carry(whole, half.workspace, part, nodes_of_half(graph, part))
    carried = Embeddings.open(half.workspace, "words", part)
    assert carried.fingerprint == whole.fingerprint
    sentence = ["Copper conducts heat."]
    assert np.array_equal(carried.encoder().encode(sentence), whole.encoder().encode(sentence))
    assert not list(faults(carried.folder, "embeddings"))


def test_what_it_cannot_do(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in one go"):
        embed(tmp_path / "wiki", WORDS, only=(0, 1))
    with pytest.raises(InputError, match="tanh is for transformers"):
        embed(tmp_path / "wiki", EmbedConfig(encoder="words", tanh=True))
    embed(tmp_path / "wiki", WORDS)
    with pytest.raises(InputError, match="no transformer"):
        Embeddings.open(tmp_path / "wiki", "words").reader()
    write_graph(tmp_path / "other", pages(9))
    embed(tmp_path / "other", WORDS)
    one, other = (Embeddings.open(tmp_path / name, "words") for name in ("wiki", "other"))
    assert one.fingerprint != other.fingerprint  # a policy of the one is none of the other


def test_a_wiki_of_one_block_without_words(tmp_path: Path) -> None:
    write_graph(tmp_path / "wiki", {"—": [Page("…")]})
    embed(tmp_path / "wiki", WORDS)
    assert not Embeddings.open(tmp_path / "wiki", "words").vectors.any()


def test_progress_is_told(graph: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embed(tmp_path / "wiki", WORDS, progress=Progress())
    said = capsys.readouterr().err
    assert [line.split(":")[0] for line in said.splitlines()] == ["count", "fit", "embed"]
    assert f"fit: {words.PASSES * graph.nodes} blocks" in said
