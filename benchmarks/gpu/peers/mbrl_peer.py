"""mbrl-lib's ModelEnv as a side of the comparison, where it can be imported; `--cpu` for a dry run."""

import sys
import time
from types import SimpleNamespace

import mbrl.models
import numpy as np
import torch

from serve import Prepared, serve
from weights import Weights

DEVICE = "cpu" if "--cpu" in sys.argv else "cuda"
state = {}


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def time_calls(run, calls):
    """Milliseconds of each call by the clock, the device waited for: ModelEnv itself waits for it in every step."""
    times = []
    for _ in range(calls):
        synchronize()
        start = time.perf_counter()
        run()
        synchronize()
        times.append(1000 * (time.perf_counter() - start))
    return times


class Rollout:
    """`horizon` steps of ModelEnv with random actions, which are made ahead; one elite a row (`random_model`)."""

    described = {"form": "ModelEnv.step, random_model"}

    def __init__(self, weights, members, rows, horizon):
        self.horizon = horizon
        obs_dim, action_dim = weights.header["obsDim"], weights.header["actionDim"]
        hidden = weights.layers("net")[1][0].shape[1]
        net = mbrl.models.GaussianMLP(
            obs_dim + action_dim,
            obs_dim + 1,
            DEVICE,
            num_layers=len(weights.layers("net")) - 1,
            ensemble_size=members,
            hid_size=hidden,
            propagation_method="random_model",
            activation_fn_cfg={"_target_": "torch.nn.SiLU"},
        )
        net.set_elite(list(range(members)))
        dynamics = mbrl.models.OneDTransitionRewardModel(net, target_is_delta=True, normalize=True, learned_rewards=True)
        dynamics.input_normalizer.update_stats(np.random.randn(1000, obs_dim + action_dim).astype(np.float32))
        never = lambda actions, next_obs: torch.zeros(len(next_obs), 1, dtype=torch.bool, device=DEVICE)
        spaces = SimpleNamespace(observation_space=None, action_space=None)
        self.env = mbrl.models.ModelEnv(spaces, dynamics, never, generator=torch.Generator(DEVICE))
        self.obs = np.random.randn(rows, obs_dim).astype(np.float32)
        self.action = torch.rand(rows, action_dim, device=DEVICE) * 2 - 1

    def run(self):
        model_state = self.env.reset(self.obs, return_as_np=False)
        for _ in range(self.horizon):
            _, _, _, model_state = self.env.step(self.action, model_state, sample=True)


def make(kind, mode, precision, members, rows, horizon, policy, disagreement=0, autotune=0):
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    if kind != "rollout" or precision == "bf16" or disagreement:
        raise ValueError("ModelEnv takes one elite a row in float32")
    return Rollout(state["weights"], members, rows, horizon)


def load(path):
    state["weights"] = Weights(path)
    return {}


serve(
    Prepared(make, time_calls, lambda: None).methods(
        load=load, versions=lambda: {"mbrl": getattr(mbrl, "__version__", "unknown"), "torch": torch.__version__}
    )
)
