# Traces of the real Gymnasium environments, as JSON on stdout: the same start, the same actions, step by step.
# Reads [{"id", "episodes": [{"qpos", "qvel", "actions"}]}] on stdin. Runs where REVERIE_PYTHON has gymnasium and mujoco.

import json
import sys

import gymnasium
import numpy as np

CLASSIC = {"CartPole-v1", "Pendulum-v1"}


def start(env, episode):
    env.reset(seed=0)
    raw = env.unwrapped
    if env.spec.id in CLASSIC:
        raw.state = np.array(episode["qpos"])
        return
    raw.set_state(np.array(episode["qpos"]), np.array(episode["qvel"]))


def trace(env, episode):
    start(env, episode)
    raw = env.unwrapped
    observations, rewards, terminations, positions = [], [], [], []
    for action in episode["actions"]:
        given = int(action[0]) if env.spec.id == "CartPole-v1" else np.array(action)
        observation, reward, terminated, _, _ = raw.step(given)
        observations.append([float(x) for x in observation])
        rewards.append(float(reward))
        terminations.append(bool(terminated))
        positions.append([] if env.spec.id in CLASSIC else [float(x) for x in raw.data.qpos])
        if terminated:
            break
    return {"observations": observations, "rewards": rewards, "terminations": terminations, "qpos": positions}


def traces(request):
    environment = gymnasium.make(request["id"])
    return [trace(environment, episode) for episode in request["episodes"]]


json.dump([traces(request) for request in json.load(sys.stdin)], sys.stdout)
