"""MBPO (Janner et al. 2019, 1906.08253) as mbrl-lib has it, with our settings laid over its configuration of hopper."""

import tempfile

from peer import install_mbrl

install_mbrl()

import gymnasium as gym
import mbrl.algorithms.mbpo as mbpo
import mbrl.env.termination_fns as ends
import mbrl.util.common as common
import numpy as np
from mbrl.planning.sac_wrapper import SACAgent
from omegaconf import OmegaConf

ENDS = {
    **{"InvertedPendulum-v5": ends.inverted_pendulum, "Hopper-v5": ends.hopper},
    **{"Walker2d-v5": ends.walker2d, "HalfCheetah-v5": ends.no_termination},
}


def box(low, high, shape):
    """A space from lists, which Gymnasium no longer accepts."""
    return gym.spaces.Box(np.array(low, np.float32), np.array(high, np.float32), tuple(shape))


def run(body, seed, rl, train, note, _):
    first, every = train["initialRandomSteps"], train["evalEvery"]
    # As scenarios/presets/model/mbpo.yaml: a refit after 250 real steps, and 400 simulated steps, each a branch of its own, for each of them.
    overrides = {
        **{"num_steps": train["realSteps"] - first, "epoch_length": every, "freq_train_model": 250},
        **{"num_elites": 5, "patience": 5, "model_lr": 0.001, "model_wd": 0.00005, "model_batch_size": 256},
        **{"validation_ratio": 0.2, "effective_model_rollouts_per_step": 400, "rollout_schedule": [1, 2, 1, 1]},
        **{"num_sac_updates_per_step": train["updatesPerStep"], "sac_updates_every_steps": 1},
        **{"num_epochs_to_retain_sac_buffer": max(1, 1000 // every), "sac_batch_size": rl["batchSize"]},
    }
    args = {
        **{"gamma": rl["gamma"], "tau": rl["tau"], "alpha": rl["initAlpha"], "policy": "Gaussian", "lr": rl["lr"]},
        **{"target_update_interval": 1, "automatic_entropy_tuning": True, "target_entropy": rl["targetEntropy"]},
        **{"hidden_size": rl["hidden"][0], "device": "cpu"},
    }
    space = {"_target_": "mbrl_mbpo.box", "low": "???", "high": "???", "shape": "???"}
    sac = "mbrl.third_party.pytorch_sac_pranz24.sac.SAC"
    agent = {"_target_": sac, "num_inputs": "???", "action_space": space, "args": args}
    network = {
        **{"_target_": "mbrl.models.GaussianMLP", "device": "cpu", "num_layers": 4, "in_size": "???", "out_size": "???"},
        **{"ensemble_size": 7, "hid_size": 200, "deterministic": False, "propagation_method": "random_model"},
        **{"learn_logvar_bounds": False, "activation_fn_cfg": {"_target_": "torch.nn.SiLU"}, "_recursive_": False},
    }
    algorithm = {
        **{"name": "mbpo", "normalize": True, "normalize_double_precision": True, "target_is_delta": True},
        **{"learned_rewards": True, "freq_train_model": 250, "real_data_ratio": 0.05},
        **{"sac_samples_action": True, "initial_exploration_steps": first, "random_initial_explore": True},
        **{"num_eval_episodes": 1, "agent": agent, "dataset_size": train["realSteps"]},
    }
    settings = {"seed": seed, "device": "cpu", "log_frequency_agent": 10**9, "overrides": overrides, "algorithm": algorithm}
    agents = []

    class Kept(SACAgent):
        def __init__(self, of):
            super().__init__(of)
            agents.append(self)

    explored = common.rollout_agent_trajectories

    def explore(*given, **named):
        explored(*given, **named)
        note(first, agents[0].act)

    def evaluate(*_):
        done[0] += every
        note(done[0], agents[0].act)
        # Never the best, so that neither video nor checkpoint is written.
        return -np.inf

    done = [first]
    mbpo.SACAgent, mbpo.evaluate, common.rollout_agent_trajectories = Kept, evaluate, explore
    env = gym.make(body)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = OmegaConf.create({**settings, "dynamics_model": network})
            mbpo.train(env, gym.make(body), ENDS[body], config, silent=True, work_dir=folder)
    finally:
        common.rollout_agent_trajectories = explored
