"""The ensemble of MBPO in PyTorch: a step of mbrl-lib's ModelEnv, and a gradient step written as its trainer does it."""

import time
from types import SimpleNamespace

from peer import install_mbrl, serve

install_mbrl()

import mbrl.models
import numpy as np
import torch

state = {}


def versions():
    return {"torch": torch.__version__, "numpy": np.__version__, "mbrl": "0.2.0"}


def network(in_size, out_size, members, hidden, layers, learn_bounds):
    return mbrl.models.GaussianMLP(
        in_size,
        out_size,
        "cpu",
        num_layers=layers,
        ensemble_size=members,
        hid_size=hidden,
        propagation_method="random_model",
        learn_logvar_bounds=learn_bounds,
        activation_fn_cfg={"_target_": "torch.nn.SiLU"},
    )


def setup_dream(obs_dim, action_dim, members, elites, hidden, layers):
    """A ModelEnv over a model with random weights: their values do not matter to the time."""
    torch.manual_seed(0)
    net = network(obs_dim + action_dim, obs_dim + 1, members, hidden, layers, True)
    net.set_elite(list(range(elites)))
    dynamics = mbrl.models.OneDTransitionRewardModel(net, target_is_delta=True, normalize=True, learned_rewards=True)
    dynamics.input_normalizer.update_stats(np.random.randn(1000, obs_dim + action_dim).astype(np.float32))
    spaces = SimpleNamespace(observation_space=None, action_space=None)
    never = lambda actions, next_obs: torch.zeros(len(next_obs), 1, dtype=torch.bool)
    state["env"] = mbrl.models.ModelEnv(spaces, dynamics, never, generator=torch.Generator())
    state["dims"] = (obs_dim, action_dim)
    return versions()


def dream(rows, steps, threads):
    """Seconds of `steps` steps from the same observations; one elite a row, sampled, as numpy arrays."""
    torch.set_num_threads(threads)
    obs_dim, action_dim = state["dims"]
    obs = np.random.randn(rows, obs_dim).astype(np.float32)
    action = np.random.uniform(-1, 1, (rows, action_dim)).astype(np.float32)
    seconds = 0.0
    for _ in range(steps):
        model_state = state["env"].reset(obs)
        start = time.perf_counter()
        state["env"].step(action, model_state, sample=True)
        seconds += time.perf_counter() - start
    return seconds


def setup_training(obs_dim, action_dim, members, hidden, layers, rows, batch, lr, decay):
    torch.manual_seed(0)
    in_size, out_size = obs_dim + action_dim, obs_dim + 1
    net = network(in_size, out_size, members, hidden, layers, True)
    state["net"] = net
    state["optimiser"] = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=decay)
    state["inputs"] = torch.randn(rows, in_size)
    state["targets"] = torch.randn(rows, out_size)
    state["batch"] = batch
    state["members"] = members
    return versions()


def train(steps, threads):
    """Seconds of `steps` gradient steps of all members, each on a batch of its own."""
    torch.set_num_threads(threads)
    net, optimiser = state["net"], state["optimiser"]
    rows = len(state["inputs"])
    indices = torch.randint(0, rows, (steps, state["members"], state["batch"]))
    start = time.perf_counter()
    for i in range(steps):
        optimiser.zero_grad(set_to_none=True)
        loss, _ = net.loss(state["inputs"][indices[i]], state["targets"][indices[i]])
        loss.backward()
        optimiser.step()
    return time.perf_counter() - start


serve({"setup_dream": setup_dream, "dream": dream, "setup_training": setup_training, "train": train})
