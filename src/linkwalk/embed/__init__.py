"""phi(s_i): a block's title and text become a vector; one mapped N x D table per encoder (sec. 4.2, app. B.1)."""

from linkwalk.embed.encoder import Encoder, open_encoder, use_encoder
from linkwalk.embed.job import EmbedConfig, embed
from linkwalk.embed.store import Embeddings

__all__ = ["EmbedConfig", "Embeddings", "Encoder", "embed", "open_encoder", "use_encoder"]
