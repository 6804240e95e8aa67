"""Reads exported datasets with the libraries they are made for. Usage: read-episodes.py < input.json

The input has what each reader is asked, by its name. Prints a line "RESULT " and JSON: what each found, or the error it ended with.
Nothing of the datasets is changed or helped along: what the library does is what counts.
"""

import glob
import json
import os
import sys
import tempfile
import traceback
import types

CHATML = """{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or '' }}{% if message.tool_calls %}{% for call in message.tool_calls %}<tool_call>{{ call.function.name }} {{ call.function.arguments | tojson }}</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def tiny_tokenizer():
    """One token a byte, so that nothing is lost in tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {symbol: index for index, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>"]
    tokenizer.add_special_tokens(special)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>")
    fast.chat_template = CHATML
    return fast


def load(folder, config=None):
    from datasets import load_dataset

    with tempfile.TemporaryDirectory() as cache:
        loaded = load_dataset(folder, config, cache_dir=cache)
        return {split: [dict(row) for row in rows] for split, rows in loaded.items()}


def read_datasets(request):
    """Each of `sets` (folder, config): its rows by split, as `datasets` gives them."""
    return [load(one["folder"], one.get("config")) for one in request["sets"]]


def read_pandas(request):
    """Rows of all Parquet files of each folder, as pandas gives them."""
    import pandas

    found = []
    for folder in request["folders"]:
        files = sorted(glob.glob(os.path.join(folder, "**", "*.parquet"), recursive=True))
        frame = pandas.concat([pandas.read_parquet(path) for path in files])
        found.append({"columns": list(frame.columns), "rows": json.loads(frame.to_json(orient="records"))})
    return found


def read_atif(request):
    from atif import Trajectory

    trajectories = []
    for path in sorted(glob.glob(os.path.join(request["folder"], "data", "*.jsonl"))):
        with open(path, encoding="utf-8") as lines:
            trajectories += [Trajectory.model_validate_json(line) for line in lines]
    return [len(trajectory.steps) for trajectory in trajectories]


def read_trl(request):
    """For each configuration: whether TRL takes its rows for conversations, and what its chat template makes of them."""
    from trl.data_utils import is_conversational, maybe_apply_chat_template

    tokenizer = tiny_tokenizer()
    found = {}
    for config in request["configs"]:
        rows = [row for rows in load(request["folder"], config).values() for row in rows]
        # As SFTTrainer and DPOTrainer do with the column.
        tools = [json.loads(row["tools"]) if isinstance(row["tools"], str) else row["tools"] for row in rows]
        found[config] = {
            "conversational": all(is_conversational(row) for row in rows),
            "rows": [maybe_apply_chat_template(row, tokenizer, own) for row, own in zip(rows, tools)],
        }
    return found


class Warnings:
    """Stands in for LLaMA-Factory's logger, whose module imports torch: remembers what it is told."""

    def __init__(self):
        self.lines = []

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.lines.append(f"{name}: {args[0][:200]}")


def import_llamafactory(warnings):
    """Its converter, parser and formatters as they are, without the packages around them that need torch."""
    import importlib.util

    root = importlib.util.find_spec("llamafactory").submodule_search_locations[0]
    for name in ["llamafactory", "llamafactory.data", "llamafactory.extras"]:
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(root, *name.split(".")[1:])]
        sys.modules[name] = package
    for name, values in {
        "logging": {"get_logger": lambda _: warnings},
        "constants": {"DATA_CONFIG": "dataset_info.json"},
        "misc": {"use_modelscope": lambda: False, "use_openmind": lambda: False},
    }.items():
        module = types.ModuleType(f"llamafactory.extras.{name}")
        module.__dict__.update(values)
        sys.modules[module.__name__] = module
        setattr(sys.modules["llamafactory.extras"], name, module)


def read_llamafactory(request):
    from datasets import load_dataset

    warnings = Warnings()
    import_llamafactory(warnings)
    from llamafactory.data.converter import get_dataset_converter
    from llamafactory.data.formatter import FunctionFormatter, ToolFormatter
    from llamafactory.data.parser import get_dataset_list

    functions = FunctionFormatter(slots=["{{content}}"], tool_format="qwen")
    converted = []
    for attributes in get_dataset_list([request["name"]], request["folder"]):
        files = [os.path.join(request["folder"], attributes.dataset_name)]
        with tempfile.TemporaryDirectory() as cache:
            rows = load_dataset("json", data_files=files, split=attributes.split, cache_dir=cache)
            convert = get_dataset_converter(attributes.formatting, attributes, types.SimpleNamespace(media_dir=""))
            converted += [convert(row) for row in rows]
    calls = [
        functions.apply(
            content=turn["content"],
            thought_words=("<think>\n", "\n</think>\n\n"),
            tool_call_words=("<tool_call>", "</tool_call>"),
        )[0]
        for row in converted
        for turn in row["_prompt"] + row["_response"]
        if turn["role"] == "function"
    ]
    tools = [ToolFormatter(tool_format="qwen").apply(content=row["_tools"])[0] for row in converted]
    return {
        "warnings": warnings.lines,
        "turns": [[turn["role"] for turn in row["_prompt"] + row["_response"]] for row in converted],
        "systems": [row["_system"] for row in converted],
        "calls": calls,
        "tools": tools,
    }


def answer(reader, request):
    try:
        return {"found": reader(request)}
    except Exception:
        return {"error": traceback.format_exc()}


def main():
    readers = {name.removeprefix("read_"): reader for name, reader in globals().items() if name.startswith("read_")}
    asked = json.load(sys.stdin)
    print("\nRESULT " + json.dumps({name: answer(readers[name], request) for name, request in asked.items()}))


main()
