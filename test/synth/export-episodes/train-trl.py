"""Trains by TRL's own trainers on exported rows, two steps each, and tells what they learn from. Usage: train-trl.py < input.json

The model has random weights and one token a byte, so that what is learnt can be read back byte for byte; its chat template
is the one of Qwen2.5. Prints a line "RESULT " and JSON.
"""

import importlib.resources
import json
import math
import sys
import tempfile

given = json.load(sys.stdin)

import torch
import transformers
from datasets import IterableDataset, load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, RewardConfig, RewardTrainer, SFTConfig, SFTTrainer

torch.set_num_threads(1)
STEPS = 2
ENDS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]


def tokenizer():
    vocab = {symbol: index for index, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(ENDS)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    template = importlib.resources.files("trl").joinpath("chat_templates/qwen2_5.jinja")
    fast.chat_template = template.read_text("utf-8")
    return fast


def config():
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"pad_token_id": READER.pad_token_id, "eos_token_id": READER.eos_token_id, "bos_token_id": None}
    return Qwen2Config(vocab_size=len(READER), num_key_value_heads=2, max_position_embeddings=8192, **shape, **ends)


READER = tokenizer()
MODEL = given["output"] + "/model"


def spans(ids, mask):
    """Texts of the tokens whose mask is 1, one for each stretch of them."""
    found, before = [], 0
    for token, learnt in zip(ids, mask):
        if learnt and not before:
            found.append([])
        if learnt:
            found[-1].append(token)
        before = learnt
    return [READER.decode(span) for span in found]


def trained(trainer):
    """What its own collator gives it of all rows, and the losses of its steps."""
    batch = trainer.data_collator(list(trainer.train_dataset))
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return batch, {"steps": len(losses), "finite": all(map(math.isfinite, losses))}


def arguments(config_class, **more):
    """As docs/datasets.md says; on processors alone, and for two steps."""
    common = {"max_length": None, "use_cpu": True, "bf16": False, "report_to": "none", "disable_tqdm": True, "seed": 1}
    common |= {"max_steps": STEPS, "per_device_train_batch_size": 2, "logging_steps": 1, "save_strategy": "no"}
    return config_class(output_dir=given["output"], **common, **more)


def rows(folder, config_name):
    with tempfile.TemporaryDirectory() as cache:
        return load_dataset(given[folder], config_name, split="train", cache_dir=cache, keep_in_memory=True)


def exact_rows(config_name):
    """As docs/datasets.md says where arguments are numbers with fractions."""
    with open(f"{given['trl']}/data/{config_name}/train-00000-of-00001.jsonl", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def train_sft(dataset, **more):
    trainer = SFTTrainer(model=MODEL, processing_class=READER, train_dataset=dataset, args=arguments(SFTConfig, **more))
    batch, told = trained(trainer)
    ids, labels = batch["input_ids"].tolist(), batch["labels"].tolist()
    learnt = [spans(row, [label != -100 for label in of]) for row, of in zip(ids, labels)]
    return told | {"learnt": learnt, "whole": [READER.decode(row) for row in ids]}


def train_dpo():
    trainer = DPOTrainer(
        model=MODEL,
        processing_class=READER,
        train_dataset=rows("trl", "preference_turns"),
        args=arguments(DPOConfig),
    )
    batch, told = trained(trainer)
    learnt = [spans(*row) for row in zip(batch["input_ids"].tolist(), batch["completion_mask"].tolist())]
    return told | {"chosen": learnt[: len(learnt) // 2], "rejected": learnt[len(learnt) // 2 :]}


def train_kto():
    trainer = KTOTrainer(
        model=MODEL,
        processing_class=READER,
        train_dataset=rows("trl", "unpaired_turns"),
        args=arguments(KTOConfig),
    )
    batch, told = trained(trainer)
    learnt = [spans(*row) for row in zip(batch["input_ids"].tolist(), batch["completion_mask"].tolist())]
    return told | {"learnt": learnt, "labels": batch["label"].tolist()}


def train_reward():
    trainer = RewardTrainer(
        model=MODEL,
        processing_class=READER,
        train_dataset=rows("trl", "preference"),
        args=arguments(RewardConfig),
    )
    batch, told = trained(trainer)
    whole = [READER.decode(row).replace("<|endoftext|>", "") for row in batch["input_ids"].tolist()]
    return told | {"chosen": whole[: len(whole) // 2], "rejected": whole[len(whole) // 2 :]}


def main():
    transformers.set_seed(1)
    Qwen2ForCausalLM(config()).save_pretrained(MODEL)
    READER.save_pretrained(MODEL)
    found = {
        "messages": train_sft(rows("trl", "messages"), assistant_only_loss=True),
        "prompt_completion": train_sft(rows("trl", "prompt_completion")),
        "exact": train_sft(IterableDataset.from_generator(exact_rows, gen_kwargs={"config_name": "prompt_completion"})),
        "preference_turns": train_dpo(),
        "unpaired_turns": train_kto(),
        "preference": train_reward(),
    }
    print("\nRESULT " + json.dumps(found))


main()
