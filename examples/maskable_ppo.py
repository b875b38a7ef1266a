"""Trains stable-baselines3's maskable PPO on a wiki, by reward alone, and says how often it reaches its goals.

pip install 'linkwalk[rl,encode]' sb3-contrib
linkwalk demo -o out/demo --no-serve
python examples/maskable_ppo.py out/demo

The policy is ours to choose, the algorithm is theirs: a link's logit is the inner product of two learned views, one of
goal and page, one of the link, and weights for its kind and for having been there. Every so many steps the policy
walks, taking its most probable link, the episodes that `linkwalk eval` walks.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from linkwalk.envs import ID
from linkwalk.graph.store import TYPES

VIEW, HIDDEN = 64, 64


class Logits(BaseFeaturesExtractor):
    """The logits of all links [B, A], and beside them what the value is read from [B, H]."""

    def __init__(self, space: gymnasium.spaces.Dict) -> None:
        links, width = space["links"].shape
        super().__init__(space, links + HIDDEN)
        self.sought = nn.Linear(2 * width, VIEW)
        self.shown = nn.Linear(width, VIEW, bias=False)
        self.traits = nn.Linear(len(TYPES) + 1, 1, bias=False)
        self.value = nn.Sequential(nn.Linear(2 * width + 1, HIDDEN), nn.Tanh())

    def forward(self, seen: dict[str, Tensor]) -> Tensor:
        """From the observation, a dictionary of tensors."""
        both = torch.cat((seen["current"], seen["goal"]), -1)
        kinds = nn.functional.one_hot(seen["kinds"].long(), len(TYPES)).float()
        traits = self.traits(torch.cat((kinds, seen["visited"][..., None]), -1))[..., 0]
        scores = torch.einsum("bv,bav->ba", self.sought(both), self.shown(seen["links"]))
        near = nn.functional.cosine_similarity(seen["current"], seen["goal"])[:, None]
        return torch.cat((scores + traits, self.value(torch.cat((both, near), -1))), -1)


class Halves(nn.Module):
    """Gives the policy its logits and the value the rest."""

    def __init__(self, links: int) -> None:
        super().__init__()
        self.links, self.latent_dim_pi, self.latent_dim_vf = links, links, HIDDEN

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Both halves."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        """The logits."""
        return features[:, : self.links]

    def forward_critic(self, features: Tensor) -> Tensor:
        """What the value is read from."""
        return features[:, self.links :]


class LinkPolicy(MaskableActorCriticPolicy):
    """An actor whose features are its logits already."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options, features_extractor_class=Logits, ortho_init=False)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = Halves(self.features_dim - HIDDEN)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


def reached(model: MaskablePPO, options: dict[str, Any], episodes: int) -> float:
    """The share of the task's first episodes in which the policy comes to its goal."""
    envs = gymnasium.make_vec(ID, num_envs=episodes, **options)
    seen, _ = envs.reset(options={"episode": 0})
    over = found = torch.zeros(episodes, dtype=torch.bool)
    while not over.all():
        chosen, _ = model.predict(seen, deterministic=True, action_masks=seen["action_mask"])
        seen, _, terminated, truncated, info = envs.step(chosen)
        found = found | (torch.from_numpy(info["success"] & terminated) & ~over)
        over = over | torch.from_numpy(terminated | truncated)
    envs.close()
    return float(found.float().mean())


def main() -> None:
    """Train, and look at the policy now and then."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--task", default="navigation-5")
    parser.add_argument("--budget", type=int, default=20)
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--looks", type=int, default=8)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the curve here")
    args = parser.parse_args()
    torch.set_num_threads(1)  # batches are small, and threads would wait for each other
    options = {"wiki": str(args.wiki), "task": args.task, "budget": args.budget}
    model = MaskablePPO(
        LinkPolicy,
        make_vec_env(ID, 16, seed=args.seed, env_kwargs=options),
        n_steps=128,
        batch_size=512,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=0.95,
        ent_coef=0.01,
        seed=args.seed,
        device="cpu",
    )
    begun, curve = time.perf_counter(), []
    for look in range(args.looks + 1):
        if look:
            model.learn(args.steps // args.looks, reset_num_timesteps=False)
        share, seconds = reached(model, options, args.episodes), time.perf_counter() - begun
        curve.append({"steps": model.num_timesteps, "seconds": round(seconds), "reached": round(share, 3)})
        print(f"{model.num_timesteps:>9,} steps  {seconds:>5.0f} s  {100 * share:5.1f} % reached", flush=True)
    if args.json:
        args.json.write_text(json.dumps(curve, indent=2) + "\n")


if __name__ == "__main__":
    main()
