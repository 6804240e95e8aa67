# The tool by which the agent speaks, where anybody hears it; and tools and arguments that have another name here, as Python
# cannot bind their own.
SAY = @SAY@
RENAMED = @RENAMED@


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
    usual = {"output_dir": "trl-@ENV@-sft", "max_length": None, "assistant_only_loss": True}
    usual |= {"max_steps": -(-3 * len(rows) // batch)}
    return SFTTrainer(
        model=model,
        # Not a Dataset, which changes some numbers with fractions in their last digits.
        train_dataset=IterableDataset.from_generator(lambda: iter(rows)),
        args=settings(SFTConfig, **{**usual, **changed}),
    )


