"""TD3+BC (Fujimoto & Gu 2021, 2106.06860): TD3 with a term that holds the policy near the actions of the records, whose observations are
scaled by mean and deviation."""

import copy

import gymnasium as gym
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def network(sizes):
    made = [layer for fan_in, out in zip(sizes, sizes[1:]) for layer in (nn.Linear(fan_in, out), nn.ReLU())]
    return nn.Sequential(*made[:-1])


def run(body, seed, rl, train, note, records):
    env = gym.make(body)
    observed, moved = env.observation_space.shape[0], env.action_space.shape[0]
    middle, half = (env.action_space.high + env.action_space.low) / 2, (env.action_space.high - env.action_space.low) / 2
    rows = torch.from_numpy(np.fromfile(records, np.float32).reshape(-1, 2 * observed + moved + 3))
    observation, action, reward, terminated, _, following = rows.split([observed, moved, 1, 1, 1, observed], -1)
    action = (action - torch.from_numpy(middle)) / torch.from_numpy(half)
    mean, deviation = observation.mean(0), observation.std(0, unbiased=False) + 1e-3
    observation, following = (observation - mean) / deviation, (following - mean) / deviation

    actor = nn.Sequential(*network([observed, *rl["hidden"], moved]), nn.Tanh())
    critics = nn.ModuleList(network([observed + moved, *rl["hidden"], 1]) for _ in range(2))
    targets = copy.deepcopy(nn.ModuleList([actor, *critics]))
    of_actor = torch.optim.Adam(actor.parameters(), lr=rl["lr"])
    of_critics = torch.optim.Adam(critics.parameters(), lr=rl["lr"])

    @torch.no_grad()
    def act(seen):
        own = actor((torch.as_tensor(seen, dtype=torch.float32) - mean) / deviation)
        return middle + half * own.numpy()

    for step in range(1, train["offlineUpdates"] + 1):
        i = torch.randint(len(rows), (rl["batchSize"],))
        with torch.no_grad():
            noise = (0.2 * torch.randn(rl["batchSize"], moved)).clamp(-0.5, 0.5)
            nearby = torch.cat([following[i], (targets[0](following[i]) + noise).clamp(-1, 1)], -1)
            y = reward[i] + rl["gamma"] * (1 - terminated[i]) * torch.minimum(targets[1](nearby), targets[2](nearby))
        loss = sum(F.mse_loss(critic(torch.cat([observation[i], action[i]], -1)), y) for critic in critics)
        of_critics.zero_grad()
        loss.backward()
        of_critics.step()
        if step % rl["policyEvery"] == 0:
            own = actor(observation[i])
            worth = critics[0](torch.cat([observation[i], own], -1))
            of_actor.zero_grad()
            (F.mse_loss(own, action[i]) - rl["alpha"] * worth.mean() / worth.abs().mean().detach()).backward()
            of_actor.step()
            with torch.no_grad():
                pairs = zip(targets.parameters(), nn.ModuleList([actor, *critics]).parameters())
                for target, own in pairs:
                    target.lerp_(own, rl["tau"])
        if step % train["updatesPerRound"] == 0:
            note(step, act)
