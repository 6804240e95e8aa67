"""Branched rollouts of a probabilistic ensemble in PyTorch, in the forms a careful user would write.

`grouped`: rows are brought together by member, one batched product a layer for all members, as mbrl-lib does it. Groups are
of equal size and the permutations are made ahead, so that shapes are static and drawing members costs nothing here.
`select`: all members on all rows, then each row's own; costs more arithmetic and no gathering. Needed for disagreement.
"""

import torch
import torch.nn.functional as F

from weights import padded

POOL = 16


def precision_of(name):
    return torch.bfloat16 if name == "bf16" else torch.float32


def use_precision(name):
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")


class TorchEnsemble:
    """The networks of the first `members` members, and the policy that acts in the dream (`linear` or `mlp`)."""

    def __init__(self, weights, members, policy, precision, device):
        self.device, self.dtype, self.members = device, precision_of(precision), members
        self.obs_dim = weights.header["obsDim"]
        self.targets = weights["logVarMin"].shape[1]
        layers = weights.layers("net")
        self.layers = [self._layer(w[:members], b[:members]) for w, b in layers]
        self.policy = [self._layer(w, b) for w, b in weights.layers(f"policy.{policy}")]
        self.action_dim = weights.header["actionDim"]
        constant = lambda name: torch.from_numpy(weights[name].copy()).to(device)
        self.log_var_min, self.log_var_max = (constant(n)[:members, None] for n in ("logVarMin", "logVarMax"))
        self.input_mean, self.input_scale = constant("inputMean"), constant("inputScale")
        self.target_mean, self.target_scale = constant("targetMean"), constant("targetScale")
        self.input_pad = self.layers[0][0].shape[-2] - self.input_mean.shape[0]

    def _layer(self, w, b):
        w = padded(padded(w, -1), -2)
        b = padded(b, -1)[..., None, :]
        return tuple(torch.from_numpy(a.copy()).to(self.device, self.dtype) for a in (w, b))

    def encode(self, obs, action):
        z = (torch.cat((obs, action), -1) - self.input_mean) / self.input_scale
        return F.pad(z, (0, self.input_pad)).to(self.dtype)

    def act(self, obs):
        """A squashed Gaussian's action."""
        x = F.pad(obs, (0, -obs.shape[-1] % 8)).to(self.dtype)
        for i, (w, b) in enumerate(self.policy):
            x = torch.addmm(b[0], x, w)
            if i + 1 < len(self.policy):
                x = F.relu(x)
        mean, log_std = x[:, : 2 * self.action_dim].float().split(self.action_dim, -1)
        return torch.tanh(mean + log_std.clamp(-10, 2).exp() * torch.randn_like(mean))

    def heads(self, z):
        """Mean and log-variance in normalised units, float, [members, rows, targets]."""
        last = len(self.layers) - 1
        for i, (w, b) in enumerate(self.layers):
            z = torch.bmm(z, w).add_(b)
            if i < last:
                z = F.silu(z, inplace=True)
        mean, raw = z[..., : 2 * self.targets].float().split(self.targets, -1)
        below = self.log_var_max - F.softplus(self.log_var_max - raw)
        return mean, self.log_var_min + F.softplus(below - self.log_var_min)

    def sample(self, mean, log_var):
        """Changes of the observation and the reward in raw units."""
        normalised = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
        return normalised * self.target_scale + self.target_mean

    def step_grouped(self, obs, branch, order):
        """A step with rows taken in `order`, of which equal runs belong to one member each; rows stay in that order."""
        obs, branch = obs[order], branch[order]
        z = self.encode(obs, self.act(obs))
        mean, log_var = self.heads(z.view(self.members, -1, z.shape[-1]))
        change = self.sample(mean, log_var).view(-1, self.targets)
        return obs + change[:, : self.obs_dim], branch, change[:, -1].sum()

    def _chosen(self, mean, log_var, rows):
        chosen = torch.randint(self.members, (1, rows, 1), device=self.device).expand(-1, -1, self.targets)
        return mean.gather(0, chosen)[0], log_var.gather(0, chosen)[0]

    def step_select(self, obs, branch, order):
        z = self.encode(obs, self.act(obs))
        mean, log_var = self.heads(z.expand(self.members, -1, -1))
        change = self.sample(*self._chosen(mean, log_var, len(obs)))
        return obs + change[:, : self.obs_dim], branch, change[:, -1].sum()

    def step_disagreement(self, obs, branch, order):
        """As `step_select`, and the largest root-mean-square deviation of a member from the members' mean."""
        z = self.encode(obs, self.act(obs))
        mean, log_var = self.heads(z.expand(self.members, -1, -1))
        change = self.sample(*self._chosen(mean, log_var, len(obs)))
        away = (mean - mean.mean(0))[..., : self.obs_dim]
        doubt = away.square().mean(-1).sqrt().amax(0)
        return obs + change[:, : self.obs_dim], branch, change[:, -1].sum() + 1e-30 * doubt.sum()

    def expected(self, obs, action):
        """What follows each row by the members' mean, no noise: next observation and reward."""
        mean, _ = self.heads(self.encode(obs, action).expand(self.members, -1, -1))
        change = mean.mean(0) * self.target_scale + self.target_mean
        return obs + change[:, : self.obs_dim], change[:, -1]


class Rollout:
    """`horizon` steps of `rows` branches from the same starts, all on the device, nothing but statistics kept."""

    def __init__(self, ensemble, form, rows, horizon, mode, autotune):
        self.ensemble, self.horizon = ensemble, horizon
        device = ensemble.device
        self.starts = torch.randn(rows, ensemble.obs_dim, device=device)
        self.branches = torch.arange(rows, device=device, dtype=torch.int32)
        self.orders = [torch.randperm(rows, device=device) for _ in range(POOL if form == "grouped" else 1)]
        step = getattr(ensemble, f"step_{form}")
        if mode != "eager":
            step = torch.compile(step, dynamic=False, fullgraph=True, mode="max-autotune-no-cudagraphs" if autotune else None)
        self.step = step

    def run(self):
        obs, branch, total = self.starts, self.branches, None
        for h in range(self.horizon):
            obs, branch, reward = self.step(obs, branch, self.orders[h % len(self.orders)])
            total = reward if total is None else total + reward
        return obs, branch, total
