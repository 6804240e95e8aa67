"""Trains a language model by TRL's GRPO in an inn played by text, which Reverie serves.

    reverie serve cellar

    pip install trl openreward
    python examples/train-trl-on-a-served-inn.py            # by clients/reverie_trl.py
    python examples/train-trl-on-a-served-inn.py --ors      # by TRL's own OpenRewardSpec

It needs no model hub: somebody wanders about the inn, picks things up and puts them down anywhere; a tiny transformer of
random weights is first fitted to those of these episodes that solved the task, so that it calls tools at all. From there
on it has nothing but its own rewards. That shows the loop in a few minutes of one core, not what a language model can do:
MODEL=Qwen/Qwen3-0.6B takes that one instead, as it is.
"""

import argparse
import importlib.resources
import importlib.util
import json
import os
import random
import re
import time

import torch
import transformers
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl.chat_template_utils import get_training_chat_template

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "reverie_trl.py")
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
FAREWELL = {"role": "assistant", "content": "I am done."}
NAMED = r"\ban? ([a-z]+ \d+)"


class Wanderer:
    """Goes to places of the room at random, takes what lies there and puts it down somewhere else."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.places, self.held = rng, [], None

    def command(self, seen: str) -> str:
        if "Looking around you" in seen:
            self.places = re.findall(NAMED, seen)
        if taken := re.search(r"You pick up the ([a-z]+ \d+)", seen):
            self.held = taken[1]
        if here := re.search(r"You arrive at the ([a-z]+ \d+)", seen):
            things = re.findall(NAMED, seen)
            if self.held is not None and self.rng.random() < 0.5:
                held, self.held = self.held, None
                return f"put {held} in/on {here[1]}"
            if self.held is None and things and self.rng.random() < 0.7:
                return f"take {self.rng.choice(things)} from {here[1]}"
        return f"go to {self.rng.choice(self.places)}"


def transcript(environment, row: dict, rng: random.Random, calls: int) -> list[dict]:
    """An episode of a wanderer as messages; `environment` is what TRL's trainer gets, and is used as it does."""
    seen = environment.reset(**row)
    messages = [*row["prompt"][:-1], {"role": "user", "content": row["prompt"][-1]["content"] + seen}]
    wanderer = Wanderer(rng)
    for _ in range(calls):
        arguments = {"text": wanderer.command(seen)}
        seen = environment.act(**arguments)
        call = {"type": "function", "function": {"name": "act", "arguments": arguments}}
        messages += [{"role": "assistant", "content": "", "tool_calls": [call]}]
        messages += [{"role": "tool", "name": "act", "content": seen}]
        if "The episode is over" in seen or getattr(environment, "finished", False):
            return [*messages, FAREWELL]
    return messages


def tokenizer_of(texts: list[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE of these texts, with the chat template of Qwen3, whose calls of tools TRL can read."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1000, special_tokens=MARKS, initial_alphabet=alphabet))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.chat_template = template()
    return tokenizer


def template() -> str:
    return importlib.resources.files("trl").joinpath("chat_templates/qwen3_instruct_2507.jinja").read_text("utf-8")


def fitted(transcripts: list[list[dict]], tool, steps: int) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]:
    """A tiny model that has learned to write what the assistant of these transcripts writes, and its tokenizer."""
    texts = [message["content"] or json.dumps(message["tool_calls"]) for messages in transcripts for message in messages]
    tokenizer = tokenizer_of([*texts, json.dumps(transformers.utils.get_json_schema(tool)), template()])
    training = {"chat_template": get_training_chat_template(tokenizer), "tools": [tool], "tokenize": True}
    training |= {"return_dict": True, "return_assistant_tokens_mask": True}
    encoded = [tokenizer.apply_chat_template(messages, **training) for messages in transcripts]
    shape = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
    shape |= {"num_key_value_heads": 4, "head_dim": 32, "max_position_embeddings": 4096, "tie_word_embeddings": True}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), **shape, **ends))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rng = random.Random(0)
    for step in range(steps):
        batch = rng.sample(encoded, min(8, len(encoded)))
        length = max(len(one["input_ids"]) for one in batch)
        ids = torch.full((len(batch), length), tokenizer.pad_token_id)
        labels = torch.full((len(batch), length), -100)
        for row, one in enumerate(batch):
            written = torch.tensor(one["input_ids"])
            ids[row, : len(written)] = written
            labels[row, : len(written)] = torch.where(torch.tensor(one["assistant_masks"]) == 1, written, -100)
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 25 == 0:
            print(f"fitted to these, step {step + 1}: loss {loss.item():.3f}", flush=True)
    return model, tokenizer


class Told(transformers.TrainerCallback):
    """Prints what each step of the trainer logs of rewards, calls and gradients."""

    def on_log(self, args, state, control, logs=None, **_):
        if "reward" in logs:
            reward, spread = (float("nan") if logs[key] is None else logs[key] for key in ("reward", "reward_std"))
            calls, failed = logs["tools/call_frequency"], logs["tools/failure_frequency"]
            print(
                f"step {state.global_step}: reward {reward:.3f} ± {spread:.3f}, "
                f"{calls:.1f} calls a rollout, {failed:.0%} of them failed, gradient {float(logs['grad_norm']):.3f}",
                flush=True,
            )


def outcome(environments, **_):
    """The outcome; 0 for who stops before the end, which the spec's own function leaves out; None if it had no judge."""
    return [environment.reward if environment.finished else 0.0 for environment in environments]


def bound(given: argparse.Namespace):
    """Rows, what makes an environment, and the reward function, by either way."""
    if given.ors:
        os.environ["OPENREWARD_API_URL"] = os.environ["OPENREWARD_SESSION_URL"] = given.url
        from trl.experimental.openreward import OpenRewardSpec

        spec = OpenRewardSpec(given.url, env_name=given.env, num_tasks=64)
        return spec.train_dataset, spec.environment_factory, outcome
    os.environ.update({"REVERIE_URL": given.url, "REVERIE_ENV": given.env})
    found = importlib.util.spec_from_file_location("reverie_trl", CLIENT)
    client = importlib.util.module_from_spec(found)
    found.loader.exec_module(client)
    return client.dataset(), client.Environment, client.reward


def beginning(given: argparse.Namespace, rows, factory):
    """The model to train and its tokenizer: MODEL, or a tiny one fitted to what a wanderer solved."""
    if name := os.environ.get("MODEL"):
        return AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
    began, environment, rng = time.perf_counter(), factory(), random.Random(given.seed)
    played, solved = 0, []
    while len(solved) < given.transcripts:
        episode = transcript(environment, rows[played % len(rows)], rng, given.calls)
        played += 1
        if episode[-1] is FAREWELL:
            solved.append(episode)
        if played == 100 * given.transcripts:
            raise SystemExit(f"The wanderer solved {len(solved)} of {played} episodes: take an easier --task, or a MODEL.")
    print(f"the wanderer solved {len(solved)} of {played} episodes, {time.perf_counter() - began:.0f} s")
    model, tokenizer = fitted(solved, environment.act, given.fit_steps)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {time.perf_counter() - began:.0f} s")
    return model, tokenizer


def asked() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--ors", action="store_true", help="TRL's OpenRewardSpec instead of clients/reverie_trl.py")
    options.add_argument("--url", default="http://127.0.0.1:8000", help="address of the server")
    options.add_argument("--env", default="cellar", help="served environment")
    options.add_argument("--task", default="put-mug-shelf", help="the task to train on; with MODEL also all")
    options.add_argument("--steps", type=int, default=20, help="steps of GRPO")
    options.add_argument("--rollouts", type=int, default=8, help="rollouts of a step, all of one task")
    options.add_argument("--calls", type=int, default=8, help="calls of tools in a rollout at most")
    options.add_argument("--tokens", type=int, default=1024, help="tokens of a rollout at most")
    options.add_argument("--transcripts", type=int, default=32, help="solved episodes to begin with")
    options.add_argument("--fit-steps", type=int, default=100, help="steps of imitating them")
    options.add_argument("--seed", type=int, default=1)
    return options.parse_args()


def main() -> None:
    given = asked()
    torch.set_num_threads(1)
    transformers.set_seed(given.seed)
    print(f"TRL {trl.__version__}, transformers {transformers.__version__}, torch {torch.__version__}")
    rows, factory, reward = bound(given)
    if given.task != "all":
        rows = rows.filter(lambda row: given.task in (row.get("task"), row.get("id")))
    model, tokenizer = beginning(given, rows, factory)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    trainer = trl.GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=rows,
        environment_factory=factory,
        reward_funcs=reward,
        callbacks=[Told()],
        args=trl.GRPOConfig(
            output_dir="trl-on-a-served-inn",
            max_steps=given.steps,
            per_device_train_batch_size=given.rollouts,
            num_generations=given.rollouts,
            max_completion_length=given.tokens,
            max_tool_calling_iterations=given.calls,
            learning_rate=1e-5 if "MODEL" in os.environ else 1e-3,
            use_cpu=not torch.cuda.is_available(),
            bf16=torch.cuda.is_available(),
            gradient_checkpointing="MODEL" in os.environ,
            logging_steps=1,
            disable_tqdm=True,
            save_strategy="no",
            report_to="none",
            seed=given.seed,
        ),
    )
    trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
    began = time.perf_counter()
    trainer.train()
    changed = sum((old.to(new.device) - new).pow(2).sum().item() for old, new in zip(before, model.parameters())) ** 0.5
    print(f"{given.steps} steps in {time.perf_counter() - began:.0f} s; the parameters moved by {changed:.4f} (L2 norm)")


if __name__ == "__main__":
    main()
