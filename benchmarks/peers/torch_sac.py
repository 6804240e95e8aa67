"""Gradient steps of SAC in PyTorch, as src/rl/sac/sac-graph.ts has them: twin critics with layer normalisation as one batched
network, squashed Gaussian, tuned temperature, one backward pass for all losses, fused Adam, targets that follow.

`setup` tries the losses as they are and through torch.compile, and keeps the faster form.
"""

import math
import time

import torch
import torch.nn.functional as F

from peer import serve

state = {}


def layers(sizes, copies=None):
    """Weights [copies, in, out] and biases [copies, 1, out] in turn, drawn as torch.nn.Linear does."""
    lead = [] if copies is None else [copies]
    parameters = []
    for fan_in, out in zip(sizes, sizes[1:]):
        for shape in ([fan_in, out], [1, out]):
            parameters.append(torch.empty(*lead, *shape).uniform_(-1, 1) / math.sqrt(fan_in))
    return parameters


def critics(parameters, x):
    """Values [2, rows] of rows [rows, in]."""
    x = x.expand(2, *x.shape)
    for i in range(0, len(parameters) - 2, 2):
        x = torch.baddbmm(parameters[i + 1], x, parameters[i])
        x = F.relu(F.layer_norm(x, x.shape[-1:]))
    return torch.baddbmm(parameters[-1], x, parameters[-2]).squeeze(-1)


def act(parameters, obs, noise):
    x = obs
    for i in range(0, len(parameters) - 2, 2):
        x = F.relu(torch.addmm(parameters[i + 1], x, parameters[i]))
    mean, log_std = torch.addmm(parameters[-1], x, parameters[-2]).chunk(2, -1)
    log_std = log_std.clamp(-10, 2)
    u = mean + log_std.exp() * noise
    correction = 2 * (u + F.softplus(-2 * u)) - 2 * math.log(2) - 0.5 * math.log(2 * math.pi)
    return torch.tanh(u), (-0.5 * noise.square() - log_std + correction).sum(-1)


def loss(critic, policy, log_alpha, target, target_entropy, obs, action, reward, discount, next_obs, noise, next_noise):
    alpha = log_alpha.detach().exp()
    with torch.no_grad():
        next_action, next_log_prob = act(policy, next_obs, next_noise)
        value = critics(target, torch.cat([next_obs, next_action], -1)).amin(0) - alpha * next_log_prob
        y = reward + discount * value
    critic_loss = 0.5 * (critics(critic, torch.cat([obs, action], -1)) - y).square().sum(0).mean()
    chosen, log_prob = act(policy, obs, noise)
    frozen = [parameter.detach() for parameter in critic]
    policy_loss = (alpha * log_prob - critics(frozen, torch.cat([obs, chosen], -1)).amin(0)).mean()
    alpha_loss = -(log_alpha * (log_prob.detach() + target_entropy).mean()).sum()
    return critic_loss + policy_loss + alpha_loss


def setup(obs_dim, action_dim, hidden, batch, steps, lr, tau):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    critic = layers([obs_dim + action_dim, *hidden, 1], 2)
    policy = layers([obs_dim, *hidden, 2 * action_dim])
    log_alpha = torch.tensor([math.log(0.2)])
    learned = [*critic, *policy, log_alpha]
    state["target"] = [parameter.clone() for parameter in critic]
    for parameter in learned:
        parameter.requires_grad_()
    state.update(critic=critic, policy=policy, log_alpha=log_alpha, tau=tau, actions=action_dim)
    state["optimiser"] = torch.optim.Adam(learned, lr=lr, fused=True)
    rows = lambda *width: torch.randn(steps, batch, *width)
    discount = torch.full((steps, batch), 0.99)
    state["batches"] = [rows(obs_dim), rows(action_dim).tanh(), rows(), discount, rows(obs_dim)]
    seconds = {}
    for name, form in {"eager": loss, "compiled": torch.compile(loss)}.items():
        state["loss"] = form
        update()
        seconds[name] = min(update() for _ in range(3))
    state["loss"] = loss if seconds["eager"] < seconds["compiled"] else torch.compile(loss)
    update()
    return {"versions": {"torch": torch.__version__}, "seconds": seconds}


def update():
    """Seconds of all steps, their noise included."""
    critic, target, optimiser = state["critic"], state["target"], state["optimiser"]
    obs, action, reward, discount, next_obs = state["batches"]
    start = time.perf_counter()
    noise = torch.randn(2, *action.shape)
    for i in range(len(obs)):
        optimiser.zero_grad(set_to_none=True)
        batch = (obs[i], action[i], reward[i], discount[i], next_obs[i], noise[0, i], noise[1, i])
        state["loss"](critic, state["policy"], state["log_alpha"], target, -state["actions"], *batch).backward()
        optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(target, critic, state["tau"])
    return time.perf_counter() - start


serve({"setup": setup, "update": update})
