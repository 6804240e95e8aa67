"""JAX as a side of the comparison: the whole rollout one jitted scan, in the forms of torch_ensemble.py; `--cpu` for a dry run."""

import gc
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
if "--cpu" in sys.argv:
    os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

from serve import Prepared, serve
from weights import Weights, padded

# The generator of the hardware: the default one costs more than the networks' last layer.
jax.config.update("jax_default_prng_impl", "rbg")
POOL = 16
PRODUCT = {"fp32": jax.lax.Precision.HIGHEST, "tf32": "tensorfloat32", "bf16": jax.lax.Precision.DEFAULT}
state = {}


class JaxEnsemble:
    def __init__(self, weights, members, policy, precision):
        self.members, self.precision = members, PRODUCT[precision]
        self.dtype = jnp.bfloat16 if precision == "bf16" else jnp.float32
        self.obs_dim, self.action_dim = weights.header["obsDim"], weights.header["actionDim"]
        self.targets = weights["logVarMin"].shape[1]
        self.layers = [self._layer(w[:members], b[:members]) for w, b in weights.layers("net")]
        self.policy = [self._layer(w, b) for w, b in weights.layers(f"policy.{policy}")]
        self.log_var_min, self.log_var_max = (jnp.asarray(weights[n][:members, None]) for n in ("logVarMin", "logVarMax"))
        for name in ("inputMean", "inputScale", "targetMean", "targetScale"):
            setattr(self, name, jnp.asarray(weights[name]))

    def _layer(self, w, b):
        w, b = padded(padded(w, -1), -2), padded(b, -1)[..., None, :]
        return jnp.asarray(w, self.dtype), jnp.asarray(b, self.dtype)

    def encode(self, obs, action):
        z = (jnp.concatenate((obs, action), -1) - self.inputMean) / self.inputScale
        return jnp.pad(z, ((0, 0), (0, self.layers[0][0].shape[-2] - z.shape[-1]))).astype(self.dtype)

    def act(self, obs, key):
        x = jnp.pad(obs, ((0, 0), (0, -obs.shape[-1] % 8))).astype(self.dtype)
        for i, (w, b) in enumerate(self.policy):
            x = jnp.matmul(x, w, precision=self.precision) + b
            x = jax.nn.relu(x) if i + 1 < len(self.policy) else x
        mean, log_std = jnp.split(x[:, : 2 * self.action_dim].astype(jnp.float32), 2, -1)
        return jnp.tanh(mean + jnp.exp(jnp.clip(log_std, -10, 2)) * jax.random.normal(key, mean.shape))

    def heads(self, z):
        last = len(self.layers) - 1
        for i, (w, b) in enumerate(self.layers):
            z = jnp.matmul(z, w, precision=self.precision) + b
            z = jax.nn.silu(z) if i < last else z
        mean, raw = jnp.split(z[..., : 2 * self.targets].astype(jnp.float32), 2, -1)
        below = self.log_var_max - jax.nn.softplus(self.log_var_max - raw)
        return mean, self.log_var_min + jax.nn.softplus(below - self.log_var_min)

    def sample(self, mean, log_var, key):
        normalised = mean + jnp.exp(0.5 * log_var) * jax.random.normal(key, mean.shape)
        return normalised * self.targetScale + self.targetMean

    def step_grouped(self, obs, branch, order, keys):
        obs, branch = obs[order], branch[order]
        z = self.encode(obs, self.act(obs, keys[0]))
        mean, log_var = self.heads(z.reshape(self.members, -1, z.shape[-1]))
        change = self.sample(mean, log_var, keys[1]).reshape(-1, self.targets)
        return obs + change[:, : self.obs_dim], branch, change[:, -1].sum()

    def step_select(self, obs, branch, order, keys):
        z = self.encode(obs, self.act(obs, keys[0]))
        mean, log_var = self.heads(jnp.broadcast_to(z, (self.members, *z.shape)))
        change = self.sample(*self._chosen(mean, log_var, keys[2]), keys[1])
        return obs + change[:, : self.obs_dim], branch, change[:, -1].sum()

    def _chosen(self, mean, log_var, key):
        chosen = jax.random.randint(key, (1, mean.shape[1], 1), 0, self.members)
        return tuple(jnp.take_along_axis(x, chosen, 0)[0] for x in (mean, log_var))

    def step_disagreement(self, obs, branch, order, keys):
        z = self.encode(obs, self.act(obs, keys[0]))
        mean, log_var = self.heads(jnp.broadcast_to(z, (self.members, *z.shape)))
        change = self.sample(*self._chosen(mean, log_var, keys[2]), keys[1])
        away = (mean - mean.mean(0))[..., : self.obs_dim]
        doubt = jnp.sqrt((away**2).mean(-1)).max(0)
        # A product with zero would be kept by the compiler; an unused sum would not be computed.
        return obs + change[:, : self.obs_dim], branch, change[:, -1].sum() + 1e-30 * doubt.sum()

    def expected(self, obs, action):
        z = self.encode(obs, action)
        mean, _ = self.heads(jnp.broadcast_to(z, (self.members, *z.shape)))
        change = mean.mean(0) * self.targetScale + self.targetMean
        return obs + change[:, : self.obs_dim], change[:, -1]


class Rollout:
    def __init__(self, ensemble, form, rows, horizon):
        step = getattr(ensemble, f"step_{form}")
        self.described = {"form": form}
        self.starts = jax.random.normal(jax.random.key(0), (rows, ensemble.obs_dim))
        pool = POOL if form == "grouped" else 1
        self.orders = jnp.stack([jax.random.permutation(jax.random.key(i), rows) for i in range(pool)])
        self.key = jax.random.key(1)

        def rollout(starts, orders, key):
            def body(carry, h):
                obs, branch = carry
                keys = jax.random.split(jax.random.fold_in(key, h), 3)
                obs, branch, reward = step(obs, branch, orders[h % pool], keys)
                return (obs, branch), reward

            branches = jnp.arange(rows, dtype=jnp.int32)
            (obs, branch), rewards = jax.lax.scan(body, (starts, branches), jnp.arange(horizon))
            return obs, branch, rewards.sum()

        self.compiled = jax.jit(rollout).lower(self.starts, self.orders, self.key).compile()

    def run(self):
        return self.compiled(self.starts, self.orders, self.key)


def time_calls(run, calls):
    """Milliseconds a call of `calls` calls given to the device at once: JAX has no events. The same figure for each call."""
    jax.block_until_ready(run())
    start = time.perf_counter()
    for _ in range(calls):
        last = run()
    jax.block_until_ready(last)
    return [1000 * (time.perf_counter() - start) / calls] * calls


def make(kind, mode, precision, members, rows, horizon, policy, disagreement=0, autotune=0):
    if kind != "rollout":
        raise ValueError(f"unknown kind {kind}")
    ensemble = JaxEnsemble(state["weights"], members, policy, precision)
    if disagreement:
        return Rollout(ensemble, "disagreement", rows, horizon)
    forms = ["grouped"] * (rows % members == 0) + ["select"] * (rows <= 20_000)
    made = [Rollout(ensemble, form, rows, horizon) for form in forms]
    return min(made, key=lambda work: time_calls(work.run, 5)[0])


def load(path):
    state["weights"] = Weights(path)
    return {}


def verify(precision, members):
    """Largest difference to what the harness answered to its sample rows, relative to the norm of the change."""
    weights = state["weights"]
    ensemble = JaxEnsemble(weights, members, "linear", precision)
    obs, action = (jnp.asarray(weights[f"sample.{name}"]) for name in ("obs", "action"))
    next_obs, reward = (np.asarray(x, np.float64) for x in jax.jit(ensemble.expected)(obs, action))
    before = weights["sample.obs"].astype(np.float64)
    ours = np.concatenate((weights["sample.nextObs"] - before, weights["sample.reward"][:, None]), -1)
    theirs = np.concatenate((next_obs - before, reward[:, None]), -1)
    return {"relativeError": float(np.linalg.norm(theirs - ours) / np.linalg.norm(ours))}


def versions():
    if "--cpu" not in sys.argv and jax.devices()[0].platform != "gpu":
        raise RuntimeError("JAX finds no GPU")
    return {"jax": jax.__version__, "jaxDevice": str(jax.devices()[0])}


def when_empty():
    jax.clear_caches()
    gc.collect()


serve(Prepared(make, time_calls, when_empty).methods(load=load, verify=verify, versions=versions))
