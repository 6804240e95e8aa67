"""Trains Stable-Baselines3's SAC in a dream that Reverie serves, and evaluates the policy in the real environment.

    reverie collect pendulum --set collect.steps=8000 --seed 1 --out runs/seen
    reverie fit pendulum --data runs/seen --seed 1 --out runs/model
    reverie serve dream=pendulum real=pendulum --model dream=runs/model

    pip install stable-baselines3 './clients/python[gymnasium]'
    python examples/train-sb3-on-a-dream.py

The learner never steps the real environment: all it knows of it are the steps that were collected.
"""

import argparse
import time

import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

import reverie_client


class RowsAsVecEnv(VecEnv):
    """A served vector environment as Stable-Baselines3 wants it: a row that ends begins anew in the same step."""

    def __init__(self, rows: reverie_client.ReverieVectorEnv) -> None:
        super().__init__(rows.num_envs, rows.single_observation_space, rows.single_action_space)
        self.rows = rows

    def reset(self):
        # The seed that set_random_seed or model.seed asked for, if any; then each row goes on in its own stream.
        observations, _ = self.rows.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, infos = self.rows.step(self.actions)
        told = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(terminated | truncated):
            told[row]["terminal_observation"] = infos["final_obs"][row]
            # Ended by the clock alone: what would have followed still counts.
            told[row]["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
        return observations, rewards.astype(np.float32), terminated | truncated, told

    def close(self):
        self.rows.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.rows, attr_name, None)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError("environments on a server have no attributes to set")

    def env_method(self, method_name, *args, indices=None, **kwargs):
        raise NotImplementedError("environments on a server have no methods to call")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * len(list(self._get_indices(indices)))


def returns_of(act, url: str, env: str, episodes: int) -> np.ndarray:
    """Returns of as many episodes from seeds 1000, 1001, ..., all at once."""
    with reverie_client.make_vec(url, episodes, env) as rows:
        observations, _ = rows.reset(seed=1000)
        returns, running = np.zeros(episodes), np.ones(episodes, bool)
        while running.any():
            observations, rewards, terminated, truncated, _ = rows.step(act(observations, rows.action_space))
            returns += rewards * running
            running &= ~(terminated | truncated)
        return returns


def told(name: str, returns: np.ndarray) -> None:
    spread = returns.std(ddof=1) / np.sqrt(len(returns))
    print(f"{name:<28} {returns.mean():9.1f} ± {spread:.1f}   (mean of {len(returns)} episodes ± standard error)")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--url", default="http://127.0.0.1:8000")
    options.add_argument("--dream", default="dream", help="served environment to train in")
    options.add_argument("--real", default="real", help="served environment to evaluate in")
    options.add_argument("--steps", type=int, default=10_000, help="steps in the dream, of all rows together")
    options.add_argument("--rows", type=int, default=8, help="dreams side by side")
    options.add_argument("--episodes", type=int, default=50, help="episodes of each evaluation")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()

    torch.set_num_threads(1)
    set_random_seed(given.seed)
    rows = reverie_client.make_vec(given.url, given.rows, given.dream, autoreset_mode="same_step")
    dream = VecMonitor(RowsAsVecEnv(rows))
    model = SAC("MlpPolicy", dream, learning_rate=1e-3, gradient_steps=-1, learning_starts=500, seed=given.seed)
    began = time.perf_counter()
    model.learn(given.steps)
    print(f"{given.steps} steps in the dream in {time.perf_counter() - began:.0f} s")
    dream.close()

    def act(observations, _):
        return model.predict(observations, deterministic=True)[0]

    def at_random(_, space):
        return space.sample()

    told("random, real", returns_of(at_random, given.url, given.real, given.episodes))
    told("trained in the dream, dream", returns_of(act, given.url, given.dream, given.episodes))
    told("trained in the dream, real", returns_of(act, given.url, given.real, given.episodes))


if __name__ == "__main__":
    main()
