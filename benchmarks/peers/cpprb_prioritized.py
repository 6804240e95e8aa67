"""cpprb's prioritised replay buffer: sample and update, as a learner would use it."""

import time

import numpy as np
from cpprb import PrioritizedReplayBuffer

from peer import serve

state = {}


def setup(capacity, obs_dim, action_dim, alpha, epsilon, batch, seed):
    """Fills the buffer and gives every row a priority; prepares the priorities of the updates."""
    np.random.seed(seed)
    env = {
        "obs": {"shape": obs_dim, "dtype": np.float32},
        "action": {"shape": action_dim, "dtype": np.float32},
        "reward": {"dtype": np.float32},
        "terminated": {"dtype": np.uint8},
        "truncated": {"dtype": np.uint8},
        "next_obs": {"shape": obs_dim, "dtype": np.float32},
    }
    buffer = PrioritizedReplayBuffer(capacity, env, alpha=alpha, eps=epsilon)
    chunk = min(capacity, 10_000)
    for start in range(0, capacity, chunk):
        rows = min(chunk, capacity - start)
        buffer.add(
            obs=np.random.rand(rows, obs_dim).astype(np.float32),
            action=np.random.rand(rows, action_dim).astype(np.float32),
            reward=np.random.rand(rows).astype(np.float32),
            terminated=np.zeros(rows, np.uint8),
            truncated=np.zeros(rows, np.uint8),
            next_obs=np.random.rand(rows, obs_dim).astype(np.float32),
        )
        buffer.update_priorities(np.arange(start, start + rows), np.random.rand(rows))
    state.update(buffer=buffer, batch=batch, priorities=np.random.rand(64, batch).astype(np.float32))
    return {"rows": buffer.get_stored_size(), "numpy": np.__version__}


def run(iterations, beta):
    """Seconds for so many draws of a batch with all its columns and weights, each followed by its priority update."""
    buffer, batch, priorities = state["buffer"], state["batch"], state["priorities"]
    start = time.perf_counter()
    for i in range(iterations):
        sample = buffer.sample(batch, beta=beta)
        buffer.update_priorities(sample["indexes"], priorities[i % 64])
    return time.perf_counter() - start


serve({"setup": setup, "run": run})
