def imitation(folder, split="train"):
    """Episodes that `reverie export` wrote as `trl` into the folder, as rollouts of this environment: rows for SFTTrainer.

    There the agent talks to its user as in a chat. Here it does so by @SAY@: TRL ends a rollout with a turn that calls nothing.
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
    seen = "\n\n".join(message["content"] for message in messages[:first])
    told = [{"role": "user", "content": HOW + seen}]
    for message in messages[first:]:
        if message["role"] == "assistant":
            told.append(_turn(message))
        else:
            told.append({"role": "tool", "name": _bound(message.get("name", SAY)), "content": message["content"]})
    last = told[-1]["tool_calls"][-1]["function"]["name"]
    over = {"role": "tool", "name": last, "content": "\nThe episode is over."}
    return [*told, over, {"role": "assistant", "content": "Done."}]


def _turn(message):
    calls = [
        _call(_bound(name), {BOUND.get(name, {}).get(key, key): value for key, value in given.items()})
        for name, given in (call["function"].values() for call in message.get("tool_calls", []))
    ]
    if calls:
        return {**message, "tool_calls": calls}
    thoughts = {key: value for key, value in message.items() if key == "reasoning_content"}
    return {"role": "assistant", "content": "", **thoughts, "tool_calls": [_call(SAY, {"content": message["content"]})]}


def _call(name, given):
    return {"type": "function", "function": {"name": name, "arguments": given}}


def sft(model, folder, **changed):
    """A trainer that imitates such episodes; what is given changes its SFTConfig."""
    from datasets import IterableDataset
    from transformers.utils import get_json_schema
    from trl import SFTConfig, SFTTrainer

    methods = inspect.getmembers(Environment, inspect.isfunction)
    # In the order in which GRPOTrainer shows them.
    tools = json.dumps([get_json_schema(method) for name, method in methods if name != "reset" and name[0] != "_"])
    rows = [{**row, "tools": tools} for row in imitation(folder)]
    batch = changed.get("per_device_train_batch_size", 8)
    usual = {"output_dir": "trl-@ENV@-sft", "max_length": None, "assistant_only_loss": True, "max_steps": -(-3 * len(rows) // batch)}
    return SFTTrainer(
        model=model,
        # Not a Dataset, which changes some numbers with fractions in their last digits.
        train_dataset=IterableDataset.from_generator(lambda: iter(rows)),
        args=settings(SFTConfig, **{**usual, **changed}),
    )


