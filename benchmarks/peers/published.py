"""Reference learners on Gymnasium's bodies: return over steps, for the settings that ours were given (benchmarks/published.ts).

SAC and PPO are Stable-Baselines3's, DroQ and SimBa SBX's, MBPO mbrl-lib's; REDQ and TD3+BC are plain PyTorch (torch_redq.py, torch_td3_bc.py), written from their
papers and the authors' public code.
"""

import importlib.metadata

import gymnasium as gym
import numpy as np
import torch

import mbrl_mbpo
import torch_redq
import torch_td3_bc
from peer import serve

torch.set_num_threads(1)


def evaluated(env, act, episodes, seed):
    """Mean return of whole episodes that begin with seeds of their own."""
    total = 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed + episode)
        ended = False
        while not ended:
            observation, reward, terminated, truncated, _ = env.step(act(observation))
            total += float(reward)
            ended = terminated or truncated
    return total / episodes


def random(body, seed, episodes):
    """Mean return of a uniformly random policy."""
    env = gym.make(body)
    env.action_space.seed(seed)
    return evaluated(env, lambda _: env.action_space.sample(), episodes, seed)


def train(learner, body, seed, rl, train, episodes, records=None):
    """Points [steps or updates, mean return] and versions. `records`: a file that SAC leaves its rows in, and TD3+BC learns from."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    judge = gym.make(body)
    points = []

    def note(steps, act):
        points.append([steps, evaluated(judge, act, episodes, 100_000 + 1000 * seed + len(points))])

    run = {"sac": sac, "droq": droq, "simba": simba, "ppo": ppo, "redq": torch_redq.run, "td3-bc": torch_td3_bc.run, "mbpo": mbrl_mbpo.run}[learner]
    run(body, seed, rl, train, note, records)
    names = ["gymnasium", "mujoco", "torch", "stable-baselines3", "sbx-rl", "jax"]
    return {"points": points, "versions": {name: importlib.metadata.version(name) for name in names}}


def chunks(model, train, note, act):
    """Learns up to each evaluation in turn."""
    first, every = train["initialRandomSteps"], train["evalEvery"]
    for until in range(first, train["realSteps"] + 1, every):
        model.learn(until - model.num_timesteps, reset_num_timesteps=False)
        note(until, act)


def replayed(rl, train):
    """What Stable-Baselines3 and SBX call our settings."""
    return {
        **{"learning_rate": rl["lr"], "batch_size": rl["batchSize"], "tau": rl["tau"], "gamma": rl["gamma"]},
        **{"learning_starts": train["initialRandomSteps"], "gradient_steps": train["updatesPerStep"]},
        **{"train_freq": train["stepsPerRound"], "ent_coef": f"auto_{rl['initAlpha']}"},
        **{"target_entropy": rl["targetEntropy"], "buffer_size": train["realSteps"]},
    }


def sac(body, seed, rl, train, note, records):
    from stable_baselines3 import SAC

    settings = {**replayed(rl, train), "policy_kwargs": {"net_arch": rl["hidden"]}}
    model = SAC("MlpPolicy", gym.make(body), seed=seed, device="cpu", **settings)
    chunks(model, train, note, lambda observation: model.predict(observation, deterministic=True)[0])
    if records is None:
        return
    buffer, rows = model.replay_buffer, model.replay_buffer.size()
    # Kept in [-1, 1] there.
    action = model.policy.unscale_action(buffer.actions[:rows, 0])
    truncated = buffer.timeouts[:rows]
    terminated = buffer.dones[:rows] * (1 - truncated)
    columns = [buffer.observations[:rows, 0], action, buffer.rewards[:rows], terminated, truncated, buffer.next_observations[:rows, 0]]
    np.concatenate(columns, axis=1).astype(np.float32).tofile(records)


def droq(body, seed, rl, train, note, _):
    from sbx import SAC

    policy = {"net_arch": rl["hidden"], "dropout_rate": rl["dropout"], "layer_norm": True}
    settings = {**replayed(rl, train), "policy_delay": rl["policyEvery"], "policy_kwargs": policy}
    model = SAC("MlpPolicy", gym.make(body), seed=seed, **settings)
    chunks(model, train, note, lambda observation: model.predict(observation, deterministic=True)[0])


def simba(body, seed, rl, train, note, _):
    import optax
    from sbx import SAC
    from sbx.common.policies import SquashedGaussianActor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    env = VecNormalize(DummyVecEnv([lambda: gym.make(body)]), norm_reward=False)
    # The critics alone have residual blocks, and no weights decay.
    policy = {"net_arch": rl["hidden"], "actor_class": SquashedGaussianActor, "optimizer_class": optax.adam}
    settings = {**replayed(rl, train), "policy_delay": rl["policyEvery"], "policy_kwargs": policy}
    model = SAC("SimbaPolicy", env, seed=seed, **settings)
    chunks(model, train, note, lambda observation: model.predict(env.normalize_obs(observation), deterministic=True)[0])


def ppo(body, seed, rl, train, note, _):
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    # Ours has its Gaussian in [-1, 1].
    make = lambda: gym.wrappers.RescaleAction(gym.make(body), np.float32(-1), np.float32(1))
    env = VecNormalize(DummyVecEnv([make]), gamma=rl["gamma"])
    model = PPO(
        "MlpPolicy",
        env,
        **{"seed": seed, "device": "cpu", "learning_rate": rl["lr"], "n_steps": train["stepsPerRound"]},
        **{"batch_size": rl["batchSize"], "n_epochs": rl["epochs"], "gamma": rl["gamma"], "gae_lambda": rl["gaeLambda"]},
        **{"clip_range": rl["clipRatio"], "ent_coef": rl["entropyCoefficient"], "vf_coef": rl["valueCoefficient"] / 2},
        **{"target_kl": rl["targetKl"], "policy_kwargs": {"net_arch": rl["hidden"], "log_std_init": rl["initLogStd"]}},
    )
    space = gym.make(body).action_space
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2

    def act(observation):
        action, _ = model.predict(env.normalize_obs(observation), deterministic=True)
        return middle + half * np.clip(action, -1, 1)

    for until in range(train["stepsPerRound"], train["realSteps"] + 1, train["stepsPerRound"]):
        model.learn(train["stepsPerRound"], reset_num_timesteps=False)
        note(until, act)


serve({"random": random, "train": train})
