"""Trains by clients/reverie_trl.py: TRL's own SFTTrainer and GRPOTrainer, unmodified, on a tiny model of random weights.

What the model writes in GRPO is written down for each rollout of a group; all else is TRL's.
"""

import contextlib
import importlib.resources
import io
import json
import math
import os
import runpy
import sys
from unittest.mock import MagicMock

# Clients of language models, which openreward imports for what nobody calls here, and which take longer than all else of it.
for unused in ("anthropic", "anthropic.types", "anthropic.types.beta", "google.genai", "openai", "openai.types.responses"):
    sys.modules[unused] = MagicMock()

given = json.load(sys.stdin)
sys.path.insert(0, given["folder"])
os.chdir(given["folder"])

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

import reverie_trl

torch.set_num_threads(1)
STEPS = {"max_steps": 2, "logging_steps": 1, "save_strategy": "no", "report_to": "none", "disable_tqdm": True, "seed": 1}
STEPS["gradient_checkpointing"] = False


def tiny_model(path):
    """Bytes, and pairs of what is said here, so that it is short, in tokens that lose nothing; the chat template of Qwen3."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    ends = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    pairs = trainers.BpeTrainer(vocab_size=2000, special_tokens=ends, initial_alphabet=alphabet, show_progress=False)
    said = [message["content"] for row in ROWS for message in row["messages"]]
    made.train_from_iterator([json.dumps(reverie_trl.CARD["tools"]), *said], pairs)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    template = importlib.resources.files("trl").joinpath("chat_templates/qwen3_instruct_2507.jinja")
    fast.chat_template = template.read_text("utf-8")
    fast.save_pretrained(path)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 8}
    ends = {"eos_token_id": fast.eos_token_id, "pad_token_id": fast.pad_token_id, "bos_token_id": None}
    transformers.set_seed(1)
    size = {"vocab_size": len(fast), "num_key_value_heads": 1, "max_position_embeddings": 131072}
    Qwen3ForCausalLM(Qwen3Config(**size, **shape, **ends)).save_pretrained(path)
    return fast


ROWS = list(reverie_trl.imitation(given["export"]))
TOKENIZER = tiny_model("model")


class Written:
    """Stands in for sampling alone: rollout i of a group writes script i, turn by turn."""

    def __init__(self):
        self.under_way = []

    def __call__(self, prompt_ids, *_, **__):
        scripts = given["scripts"]
        return [self.turn(ids, scripts[at % len(scripts)]) for at, ids in enumerate(prompt_ids)], None

    def turn(self, prompt, script):
        found = next((one for one in self.under_way if prompt[: len(one[0])] == one[0]), None)
        if found is not None:
            self.under_way.remove(found)
        left = list(script if found is None else found[1])
        ids = TOKENIZER.encode(left.pop(0) + "<|im_end|>", add_special_tokens=False)
        if left:
            self.under_way.append((prompt + ids, left))
        return ids


def spans(ids, mask):
    found, before = [], 0
    for token, learnt in zip(ids, mask):
        if learnt and not before:
            found.append([])
        if learnt:
            found[-1].append(token)
        before = learnt
    return [TOKENIZER.decode(span) for span in found]


def losses(trainer):
    trainer.train()
    found = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return {"steps": len(found), "finite": all(map(math.isfinite, found))}


def imitated():
    trainer = reverie_trl.sft("model", given["export"], per_device_train_batch_size=1, **STEPS)
    batch = trainer.data_collator(list(trainer.train_dataset))
    ids, labels = batch["input_ids"].tolist(), batch["labels"].tolist()
    learnt = [spans(row, [label != -100 for label in of]) for row, of in zip(ids, labels)]
    return {**losses(trainer), "learnt": learnt, "whole": [TOKENIZER.decode(row) for row in ids]}


def improved():
    size = {"num_generations": len(given["scripts"]), "per_device_train_batch_size": len(given["scripts"])}
    trainer = reverie_trl.grpo("model", count=1, max_completion_length=65536, **size, **STEPS)
    trainer._generate_single_turn = Written()
    scored, score = [], trainer._generate_and_score_completions
    rewarded, rewards = [], trainer._calculate_rewards

    def scoring(inputs):
        batch = score(inputs)
        scored.append((inputs, batch))
        return batch

    def rewarding(inputs, prompts, completions, ids):
        rewarded.append((prompts, completions, reverie_trl.reward(trainer.environments, completions)))
        return rewards(inputs, prompts, completions, ids)

    trainer._generate_and_score_completions, trainer._calculate_rewards = scoring, rewarding
    told = losses(trainer)
    groups = []
    for (inputs, batch), (prompts, completions, returns) in zip(scored, rewarded):
        masks = batch["completion_mask"] * batch["tool_mask"]
        groups.append(
            {
                "rows": [{"task": one["task"], "seed": one["seed"]} for one in inputs],
                "prompts": prompts,
                "prompt": TOKENIZER.decode(batch["prompt_ids"][0]),
                "completions": completions,
                "rewards": returns,
                "advantages": batch["advantages"].flatten().tolist(),
                "learnt": [spans(*row) for row in zip(batch["completion_ids"].tolist(), masks.tolist())],
            }
        )
    return {**told, "groups": groups}


def example():
    """What an example prints, run as a user runs it but in this process, which has imported TRL already."""
    sys.argv, printed = given["example"], io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(sys.argv[0], run_name="__main__")
    return printed.getvalue()


found = {"rows": ROWS, "sft": imitated(), "grpo": improved(), "example": example()}
print("\nRESULT " + json.dumps(found))
