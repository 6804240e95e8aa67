"""Plays ALFWorld's games with the official package (PyPI: alfworld, textworld), for comparisons.

A request a line, JSON: {"game": path, "commands": [...]} or {"game": path, "random": {"seed": n, "steps": n}}; with
"names": "ids", things go by their ids, as in games that are not ALFWorld's. An answer a line: the commands, and what was seen at the reset and after each of them.
"""

import json
import random
import sys
import time

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs.pddl import PddlEnv


def seen(state):
    return {
        "observation": state["feedback"],
        "admissible": list(state["admissible_commands"]),
        "score": 1 if state["won"] else 0,
        "done": bool(state["won"]),
    }


def play(env, request):
    env.load(request["game"])
    state = env.reset()
    steps, commands = [seen(state)], []
    walk = request.get("random")
    rng = random.Random(walk["seed"]) if walk else None
    wanted = range(walk["steps"]) if walk else request["commands"]
    began = time.perf_counter()
    for one in wanted:
        command = one if rng is None else choose(rng, steps[-1]["admissible"])
        state, _, _ = env.step(command)
        commands.append(command)
        steps.append(seen(state))
    return {"game": request["game"], "commands": commands, "steps": steps, "seconds": time.perf_counter() - began}


def choose(rng, admissible):
    """Mostly something that changes the world, at times something that cannot be done."""
    if rng.random() < 0.05:
        return rng.choice(["dance", "take nothing 1 from nowhere 1", "go to", "open fridge 99"])
    telling = [c for c in admissible if not c.startswith(("go to", "examine", "help", "look", "inventory"))]
    return rng.choice(telling if telling and rng.random() < 0.6 else admissible)


def main():
    infos = textworld.EnvInfos(won=True, admissible_commands=True, feedback=True)
    plain = PddlEnv(infos)
    named = AlfredDemangler(plain)
    for line in sys.stdin:
        if line.strip():
            request = json.loads(line)
            print(json.dumps(play(plain if request.get("names") == "ids" else named, request)), flush=True)


main()
