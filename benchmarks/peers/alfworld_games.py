"""Plays ALFWorld's games with the official package (PyPI: alfworld, textworld): peer of alfworld.parity and alfworld.speed.

With names="ids", things go by their ids, as in games that are not ALFWorld's.
"""

import random
import time

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from peer import serve
from textworld.envs.pddl import PddlEnv

PLAIN = PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True, feedback=True))
NAMED = AlfredDemangler(PLAIN)


def seen(state):
    return {
        "observation": state["feedback"],
        "admissible": list(state["admissible_commands"]),
        "score": 1 if state["won"] else 0,
        "done": bool(state["won"]),
    }


def play(game, commands=None, walk=None, names="alfworld"):
    """What was seen at the reset and after each command, and the processor's seconds of both."""
    env = PLAIN if names == "ids" else NAMED
    began = time.process_time()
    env.load(game)
    state = env.reset()
    ready = time.process_time()
    steps, done = [seen(state)], []
    rng = random.Random(walk["seed"]) if walk else None
    for one in range(walk["steps"]) if walk else commands:
        command = one if rng is None else choose(rng, steps[-1]["admissible"])
        state, _, _ = env.step(command)
        done.append(command)
        steps.append(seen(state))
    seconds = {"reset": ready - began, "steps": time.process_time() - ready}
    return {"game": game, "commands": done, "steps": steps, "seconds": seconds}


def choose(rng, admissible):
    """Mostly something that changes the world, at times something that cannot be done."""
    if rng.random() < 0.05:
        return rng.choice(["dance", "take nothing 1 from nowhere 1", "go to", "open fridge 99"])
    telling = [c for c in admissible if not c.startswith(("go to", "examine", "help", "look", "inventory"))]
    return rng.choice(telling if telling and rng.random() < 0.6 else admissible)


serve({"play": play})
