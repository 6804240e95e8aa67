"""TRL: trains on an environment of a Reverie server (GRPOTrainer, `environment_factory`).

Needs no package but TRL (transformers >= 5.2) and datasets. TRL's Open Reward Standard adapter needs no code at all:

    spec = OpenRewardSpec("http://127.0.0.1:8000", num_tasks=64)
    GRPOTrainer(model=..., train_dataset=spec.train_dataset, environment_factory=spec.environment_factory,
                reward_funcs=spec.reward_funcs)

This file is for when you want to see, or change, what happens in between:

    export REVERIE_URL=http://127.0.0.1:8000 REVERIE_ENV=helpdesk
    MODEL=Qwen/Qwen3-0.6B python reverie_trl.py
    MODEL=Qwen/Qwen3-0.6B IMITATE=runs/desk/datasets/trl python reverie_trl.py     # first what `reverie export` wrote
"""

import functools
import inspect
import json
import keyword
import operator
import os
import re
import urllib.error
import urllib.request

URL = os.environ.get("REVERIE_URL", "http://127.0.0.1:8000")


def ask(method, path, body=None):
    """What the server answers; its errors are raised with their sentence and hint."""
    # A connection for each request: one kept open would be closed by the server while TRL computes gradients.
    headers = {"content-type": "application/json"}
    if "REVERIE_TOKEN" in os.environ:
        headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL.rstrip("/") + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            text = reply.read()
    except urllib.error.HTTPError as refusal:
        error = json.loads(refusal.read())["error"]
        raise RuntimeError(f"{error['message']} {error['hint']}") from refusal
    return json.loads(text) if text else None


def _card(name):
    """What the server says of the environment of that name; of the one that it serves first, without a name."""
    cards = ask("GET", "/v1/environments")["environments"]
    found = [card for card in cards if (card["name"] == name if name else card["is_default"])]
    if not found:
        raise SystemExit(f"{URL} does not serve {name}. It serves {', '.join(card['name'] for card in cards)}.")
    if found[0]["family"] == "vector":
        raise SystemExit(f"Actions of {found[0]['name']} are numbers: train with clients/python (Gymnasium) instead.")
    return found[0]


CARD = _card(os.environ.get("REVERIE_ENV"))
ENV = CARD["name"]
# There the agent talks to a user. In a game it only acts, and an agent that stops keeps what was won so far.
HAS_USER = CARD["family"] == "tools"
_SAYING = ("respond_to_user", "say_to_user", "send_message_to_user")
# The tool by which the agent speaks.
SAY = next(name for name in _SAYING if name not in [tool["name"] for tool in CARD["tools"]]) if HAS_USER else None
# Before what is seen first.
HOW = "Do what is asked, with the tools you have."
if HAS_USER:
    HOW += f" The user hears what you say by {SAY} and nothing else: call it until they have no more to say."
HOW += "\n\n"


class Environment:
    """What TRL makes as many of as it has rollouts, and keeps. Public methods but `reset` are the model's tools."""

    def __init__(self):
        self._session = None
        self._return = 0.0
        self._done = False

    def reset(self, task=None, seed=None, **_):
        """Starts the task of a dataset row, in a session of its own; what it answers is added to the row's prompt."""
        self._close()
        self._session = ask("POST", "/v1/sessions", {"env": ENV})["id"]
        chosen = {key: value for key, value in {"task": task, "seed": seed}.items() if value is not None}
        turn = ask("POST", f"/v1/sessions/{self._session}/reset", chosen)
        self._return, self._done = 0.0, False
        return _text(turn["observation"])

    def _step(self, action):
        if self._done:
            raise ValueError("The episode is over.")
        turn = ask("POST", f"/v1/sessions/{self._session}/step", {"action": action})
        self._done = turn["terminated"] or turn["truncated"]
        if turn["reward"] is None or self._return is None:
            self._return = None
        else:
            self._return += turn["reward"]
        return _text(turn["observation"]) + ("\nThe episode is over." if self._done else "")

    def _close(self):
        if self._session is not None:
            try:
                ask("DELETE", f"/v1/sessions/{self._session}")
            except RuntimeError:
                pass  # closed already: the server closes those that nobody asked for a while


_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def _plain(schema, root, hops=8):
    """The schema with what it refers to and all that it must also fit, in one object."""
    if not isinstance(schema, dict) or hops == 0:
        return {}
    found = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    parts = list(schema.get("allOf", []))
    if isinstance(schema.get("$ref"), str) and schema["$ref"].startswith("#"):
        target = root
        for key in schema["$ref"][1:].split("/")[1:]:
            key = key.replace("~1", "/").replace("~0", "~")
            target = target.get(key, {}) if isinstance(target, dict) else {}
        parts.append(target)
    for part in (_plain(part, root, hops - 1) for part in parts):
        names = [*part.get("properties", {}), *found.get("properties", {})]
        both = {name: [of["properties"][name] for of in (part, found) if name in of.get("properties", {})] for name in names}
        merged = {name: all_[0] if len(all_) == 1 else {"allOf": all_} for name, all_ in both.items()}
        required = list(dict.fromkeys([*part.get("required", []), *found.get("required", [])]))
        found = {**part, **found, **({"properties": merged} if merged else {}), **({"required": required} if required else {})}
    return found


def _type(schema, root, levels=8):
    schema = _plain(schema, root) if levels else {}
    ways = schema.get("anyOf", schema.get("oneOf"))
    if ways and "type" not in schema:
        # Null says that it may be left out, which a default of None says as well.
        ways = [_type(way, root, levels - 1) for way in ways if _plain(way, root).get("type") != "null"]
        return functools.reduce(operator.or_, ways) if ways else str
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [_TYPES.get(one, str) for one in kind if one != "null"]
        return functools.reduce(operator.or_, kinds) if kinds else str
    if kind is None and (values := schema.get("enum", [schema["const"]] if "const" in schema else [])):
        return functools.reduce(operator.or_, [type(value) for value in values if value is not None] or [str])
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else None
    if kind == "array" and isinstance(schema.get("items"), dict):
        return list[_type(schema["items"], root, levels - 1)]
    return _TYPES.get(kind, str)


def _identifiers(names):
    """An identifier for each name, all different; a name that is one already stays as it is."""
    made = []
    for name in names:
        plain = re.sub("[^A-Za-z0-9_]", "_", name)
        if keyword.iskeyword(plain) or plain in ("self", "reset", "get_reward"):
            plain += "_"
        made.append(plain if re.match("[A-Za-z]", plain) else f"x{plain}")
    taken = {plain for plain, name in zip(made, names) if plain == name}
    for at, name in enumerate(names):
        plain, n = made[at], 2
        while plain != name and plain in taken:
            plain, n = f"{made[at]}_{n}", n + 1
        taken.add(plain)
        made[at] = plain
    return made


def _method(name, tool, action):
    """A method for a tool, with the signature and docstring that TRL reads; and its arguments' names by their own."""
    root = tool["parameters"]
    whole = _plain(root, root)
    properties, required = dict(whole.get("properties", {})), whole.get("required", [])
    for way in whole.get("anyOf", whole.get("oneOf", [])):
        properties = {**_plain(way, root).get("properties", {}), **properties}
    bound = dict(zip(properties, _identifiers(list(properties))))
    parameters, lines = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)], []
    for key in sorted(properties, key=lambda one: one not in required):
        schema, needed = _plain(properties[key], root), key in required
        kind = _type(schema, root) if needed else _type(schema, root) | None
        default = inspect.Parameter.empty if needed else None
        parameters.append(
            inspect.Parameter(
                bound[key], inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind, default=default
            )
        )
        choices = f" (choices: {json.dumps(schema['enum'])})" if "enum" in schema else ""
        lines.append(f"    {bound[key]}: {_line(schema.get('description', key))}{choices}")
    signature = inspect.Signature(parameters, return_annotation=str)

    def method(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        named = {key: given[own] for key, own in bound.items() if given.get(own) is not None}
        return given["self"]._step(action(named))

    method.__name__ = method.__qualname__ = name
    method.__signature__ = signature
    method.__annotations__ = {**{one.name: one.annotation for one in parameters[1:]}, "return": str}
    method.__doc__ = "\n".join([_line(tool["description"]), *(["", "Args:", *lines] if lines else [])])
    return method, bound


def _line(text):
    return re.sub(r"\s+", " ", text).strip()


def _tool(name, description, key, about):
    properties = {key: {"type": "string", "description": about}}
    return {"name": name, "description": description, "parameters": {"properties": properties, "required": [key]}}


# Tools and arguments that have another name here, as Python cannot bind their own.
RENAMED = {}


def _add_tools():
    if not HAS_USER:
        act = _tool("act", "Does what the text says and answers what is seen then.", "text", "What to do")
        Environment.act = _method("act", act, lambda given: given["text"])[0]
        return
    about = "Says something to the user and answers what the user replies. The user sees nothing else of the agent's."
    tools = [*CARD["tools"], _tool(SAY, about, "content", "What is said to the user")]
    for name, tool in zip(_identifiers([tool["name"] for tool in tools]), tools):
        own = tool["name"]

        def action(given, own=own):
            return given if own == SAY else {"tool_calls": [{"name": own, "arguments": given}]}

        method, bound = _method(name, tool, action)
        setattr(Environment, name, method)
        RENAMED[own] = (name, bound)


_add_tools()


def _text(observation):
    if isinstance(observation, dict) and "messages" in observation:
        return "\n\n".join(message["content"] or "" for message in observation["messages"])
    return observation if isinstance(observation, str) else json.dumps(observation)


def reward(environments, completions, **_):
    """Returns of the episodes. None, which TRL leaves out of the advantage, where one was cut, left or not judged."""
    return [
        environment._return if environment._done or (not HAS_USER and _stopped(completion)) else None
        for environment, completion in zip(environments, completions)
    ]


def _stopped(completion):
    """Whether the model called no tool in its last turn, rather than being cut off between calls."""
    last = completion[-1]
    return last["role"] == "assistant" and not last.get("tool_calls")


def dataset(count=64):
    """Tasks of the split `train`; in environments without tasks, seeds."""
    from datasets import Dataset

    listed = ask("GET", f"/v1/environments/{ENV}/tasks?split=train")["tasks"]
    tasks = [task["id"] for task in listed] or [None]
    prompt = [{"role": "user", "content": HOW}]
    rows = [{"prompt": prompt, "task": tasks[i % len(tasks)], "seed": i} for i in range(count)]
    return Dataset.from_list(rows)


def imitation(folder, split="train"):
    """Episodes that `reverie export` wrote into the folder `trl`, as rollouts of this environment: rows for SFTTrainer.

    There the agent talks to its user as in a chat; here it calls SAY, as TRL ends a rollout with a turn without calls.
    """
    import glob

    files = sorted(glob.glob(os.path.join(folder, "data", "messages", f"{split}-*.jsonl")))
    if not files:
        raise FileNotFoundError(f"No episodes of split {split} are in {folder}: name the folder `trl` of an export.")
    for path in files:
        with open(path, encoding="utf-8") as lines:
            yield from ({"messages": _rollout(json.loads(line)["messages"])} for line in lines)


def _rollout(messages):
    """What is seen first in one message of the user; then turns of calls, each with its answers."""
    first = next(at for at, message in enumerate(messages) if message["role"] == "assistant")
    # A game shows no rules.
    seen = "\n\n".join(message["content"] for message in messages[:first] if SAY or message["role"] != "system")
    told = [{"role": "user", "content": HOW + seen}]
    for message in messages[first:]:
        if message["role"] == "assistant":
            told.append(_turn(message))
        else:
            told.append({"role": "tool", "name": _bound(message.get("name", SAY))[0], "content": message["content"]})
    return told


def _turn(message):
    thoughts = {key: value for key, value in message.items() if key == "reasoning_content"}
    if not message.get("tool_calls"):
        if SAY is None:
            return message
        spoken = _call(SAY, {"content": message["content"]})
        return {"role": "assistant", "content": "", **thoughts, "tool_calls": [spoken]}
    calls = []
    for call in message["tool_calls"]:
        name, keys = _bound(call["function"]["name"])
        given = call["function"]["arguments"].items()
        calls.append(_call(name, {keys.get(key, key): value for key, value in given}))
    return {**message, "tool_calls": calls}


def _bound(name):
    return RENAMED.get(name, (name, {}))


def _call(name, given):
    return {"type": "function", "function": {"name": name, "arguments": given}}


def sft(model, folder, **changed):
    """A trainer that imitates such episodes; what is given changes its SFTConfig."""
    import inspect

    from datasets import IterableDataset
    from transformers.utils import get_json_schema
    from trl import SFTConfig, SFTTrainer

    methods = inspect.getmembers(Environment, inspect.isfunction)
    # In the order in which GRPOTrainer shows them.
    tools = json.dumps([get_json_schema(method) for name, method in methods if name != "reset" and name[0] != "_"])
    rows = [{**row, "tools": tools} for row in imitation(folder)]
    batch = changed.get("per_device_train_batch_size", 8)
    usual = {"output_dir": f"trl-{ENV}-sft", "max_length": None, "assistant_only_loss": True}
    usual |= {"max_steps": -(-3 * len(rows) // batch)}
    return SFTTrainer(
        model=model,
        # Not a Dataset, which changes some numbers with fractions in their last digits.
        train_dataset=IterableDataset.from_generator(lambda: iter(rows)),
        args=settings(SFTConfig, **{**usual, **changed}),
    )


def settings(config, **changed):
    """TRL's configuration for this machine: it computes in bfloat16 unless told otherwise, which not every machine can."""
    import torch

    has_gpu = torch.cuda.is_available()
    bf16 = has_gpu and torch.cuda.is_bf16_supported()
    return config(**{"bf16": bf16, "use_cpu": not has_gpu, **changed})


def grpo(model, count=64, **changed):
    """A trainer of the model, by name or folder, on as many rows; what else is given changes its GRPOConfig."""
    from trl import GRPOConfig, GRPOTrainer

    usual = {"output_dir": f"trl-{ENV}", "max_completion_length": 4096}
    return GRPOTrainer(
        model=model,
        train_dataset=dataset(count),
        environment_factory=Environment,
        reward_funcs=reward,
        args=settings(GRPOConfig, **{**usual, **changed}),
    )


if __name__ == "__main__":
    name = os.environ.get("MODEL", "Qwen/Qwen3-0.6B")
    if folder := os.environ.get("IMITATE"):
        first = sft(name, folder)
        first.train()
        first.save_model()
        name = first.args.output_dir
    grpo(name).train()
