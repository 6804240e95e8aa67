"""REDQ (Chen et al. 2021, 2101.05982, algorithm 1): many critics as one batched network; a target is the least of two that are drawn anew,
and the policy follows the mean of all, once in twenty steps."""

import math

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F


def linear(fan_in, out, copies):
    """Xavier's uniform weights and no bias, as in the authors' code."""
    bound = math.sqrt(6 / (fan_in + out))
    lead = [] if copies is None else [copies]
    weights = torch.empty(*lead, fan_in, out).uniform_(-bound, bound)
    return [weights.requires_grad_(), torch.zeros(*lead, 1, out, requires_grad=True)]


def layers(sizes, copies=None):
    return [tensor for fan_in, out in zip(sizes, sizes[1:]) for tensor in linear(fan_in, out, copies)]


def forward(parameters, x):
    for i in range(0, len(parameters), 2):
        x = torch.matmul(x, parameters[i]) + parameters[i + 1]
        x = F.relu(x) if i + 2 < len(parameters) else x
    return x


def acted(policy, observation):
    """An action in [-1, 1] with its log-density, and the mode."""
    mean, log_std = forward(policy, observation).chunk(2, -1)
    log_std = log_std.clamp(-20, 2)
    u = mean + log_std.exp() * torch.randn_like(mean)
    normal = -0.5 * ((u - mean) / log_std.exp()).square() - log_std - 0.5 * math.log(2 * math.pi)
    squashed = 2 * (math.log(2) - u - F.softplus(-2 * u))
    return torch.tanh(u), (normal - squashed).sum(-1), torch.tanh(mean)


def run(body, seed, rl, train, note, _):
    env = gym.make(body)
    space = env.action_space
    space.seed(seed)
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    observed, moved = env.observation_space.shape[0], space.shape[0]
    rng = np.random.default_rng(seed)
    critics = layers([observed + moved, *rl["hidden"], 1], rl["critics"])
    policy = layers([observed, *rl["hidden"], 2 * moved])
    target = [tensor.detach().clone() for tensor in critics]
    log_alpha = torch.tensor([math.log(rl["initAlpha"])], requires_grad=True)
    optimisers = [torch.optim.Adam(group, lr=rl["lr"]) for group in (critics, policy, [log_alpha])]
    of_critics, of_policy, of_alpha = optimisers
    rows = np.zeros((train["realSteps"], 2 * observed + moved + 2), np.float32)
    parts = [observed, moved, 1, 1, observed]

    def update(size, moves_policy):
        drawn = torch.from_numpy(rows[rng.integers(size, size=rl["batchSize"])])
        observation, action, reward, terminated, following = drawn.split(parts, -1)
        chosen = torch.from_numpy(rng.choice(rl["critics"], rl["drawn"], replace=False))
        with torch.no_grad():
            next_action, next_log_prob, _ = acted(policy, following)
            values = forward([tensor[chosen] for tensor in target], torch.cat([following, next_action], -1)).squeeze(-1)
            value = values.amin(0) - log_alpha.exp() * next_log_prob
            y = reward.squeeze(-1) + rl["gamma"] * (1 - terminated.squeeze(-1)) * value
        loss = (forward(critics, torch.cat([observation, action], -1)).squeeze(-1) - y).square().mean(-1).sum()
        of_critics.zero_grad()
        loss.backward()
        of_critics.step()
        if moves_policy:
            own, log_prob, _ = acted(policy, observation)
            worth = forward(critics, torch.cat([observation, own], -1)).squeeze(-1).mean(0)
            of_policy.zero_grad()
            (log_alpha.exp().detach() * log_prob - worth).mean().backward()
            of_policy.step()
            of_alpha.zero_grad()
            (-(log_alpha * (log_prob.detach() + rl["targetEntropy"]))).mean().backward()
            of_alpha.step()
        with torch.no_grad():
            torch._foreach_lerp_(target, critics, rl["tau"])

    @torch.no_grad()
    def act(observation, deterministic=True):
        own, _, mode = acted(policy, torch.as_tensor(observation, dtype=torch.float32))
        # A layer's bias is a row.
        return middle + half * (mode if deterministic else own).reshape(-1).numpy()

    observation, _ = env.reset(seed=seed)
    first, every = train["initialRandomSteps"], train["evalEvery"]
    for step in range(1, train["realSteps"] + 1):
        action = space.sample() if step <= first else act(observation, deterministic=False)
        following, reward, terminated, truncated, _ = env.step(action)
        rows[step - 1] = np.concatenate([observation, (action - middle) / half, [reward, terminated], following])
        observation = env.reset()[0] if terminated or truncated else following
        if step > first:
            for i in range(train["updatesPerStep"]):
                update(step, (i + 1) % rl["policyEvery"] == 0)
        if step >= first and (step - first) % every == 0:
            note(step, act)
