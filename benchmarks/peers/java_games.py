"""Plays TextWorldExpress and ScienceWorld with their official packages (PyPI: textworld-express, scienceworld)."""

import random
import time

from peer import serve

environments = {}


def environment(kind):
    if kind not in environments:
        if kind == "textworld-express":
            from textworld_express import TextWorldExpressEnv

            environments[kind] = TextWorldExpressEnv(envStepLimit=1_000_000)
        else:
            from scienceworld import ScienceWorldEnv

            environments[kind] = ScienceWorldEnv(envStepLimit=1_000_000)
    return environments[kind]


def play(kind, game, commands=None, walk=None, gold=False):
    """What was seen at the beginning and after each command, and the seconds by the clock of both."""
    env = environment(kind)
    begin, seen = (begin_express, seen_express) if kind == "textworld-express" else (begin_science, seen_science)
    began = time.perf_counter()
    observation, infos = begin(env, game, gold)
    ready = time.perf_counter()
    steps, done = [seen(observation, infos, False, 0)], []
    path = list(gold_path(env)) if gold else None
    rng = random.Random(walk["seed"]) if walk else None
    for one in range(walk["steps"]) if walk else (path if gold else commands):
        command = one if rng is None else choose(rng, steps[-1]["admissible"])
        observation, reward, completed, infos = env.step(command)
        done.append(command)
        steps.append(seen(observation, infos, completed, reward))
        if completed:
            break
    seconds = {"reset": ready - began, "steps": time.perf_counter() - ready}
    return {"commands": done, "steps": steps, "seconds": seconds}


def begin_express(env, game, gold):
    env.load(gameName=game["name"], gameParams=game.get("parameters", ""))
    return env.reset(seed=game["seed"], gameFold=game["fold"], generateGoldPath=gold)


def begin_science(env, game, gold):
    env.load(game["name"], game["variation"], game.get("simplifications", ""), generateGoldPath=gold)
    return env.reset()


def gold_path(env):
    return env.get_gold_action_sequence() if hasattr(env, "get_gold_action_sequence") else env.getGoldActionSequence()


def seen_express(observation, infos, completed, reward):
    return {
        "observation": observation,
        "look": infos["look"],
        "inventory": infos["inventory"],
        "admissible": list(infos["validActions"]),
        "score": infos["score"],
        "reward": reward,
        "done": bool(completed),
    }


def seen_science(observation, infos, completed, reward):
    return {
        "observation": observation,
        "look": infos["look"],
        "inventory": infos["inv"],
        "admissible": list(infos["valid"]),
        "score": infos["score"] / 100,
        "reward": reward / 100,
        "done": bool(completed),
    }


def choose(rng, admissible):
    """Something that can be done, at times something that cannot."""
    return rng.choice(["dance", "take nothing from nowhere"]) if rng.random() < 0.05 else rng.choice(admissible)


def folds(tasks=None):
    """Variations of ScienceWorld's tasks by fold."""
    env = environment("scienceworld")
    found = {}
    for task in tasks or env.get_task_names():
        env.load(task, 0, "")
        found[task] = {
            "variations": env.get_max_variations(task),
            "train": env.get_variations_train(),
            "dev": env.get_variations_dev(),
            "test": env.get_variations_test(),
        }
    return found


serve({"play": play, "folds": folds})
