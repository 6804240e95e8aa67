"""Plays groups of tries as verl does, with its own dataset, worker, agent loop and advantage, unmodified.

The model's server is the only thing that is not verl's: it answers tokens that were written down for each try.
"""

import asyncio
import json
import os
import sys

given = json.load(sys.stdin)
folder = given["folder"]
sys.path.insert(0, folder)
os.environ.update({"VERL_USE_EXTERNAL_MODULES": "reverie_verl", "VERL_LOGGING_LEVEL": "ERROR", **given["settings"]})

import numpy as np
import torch
from hydra import compose, initialize_config_module
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast

CHATML = """{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or '' }}{% if message.tool_calls %}{% for call in message.tool_calls %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def tiny_model(path):
    """One token a byte, so that what was written is what was learnt, byte for byte."""
    vocab = {symbol: index for index, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>")
    fast.chat_template = CHATML
    fast.save_pretrained(path)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    LlamaConfig(vocab_size=len(fast), architectures=["LlamaForCausalLM"], **shape).save_pretrained(path)
    return fast


tokenizer = tiny_model(os.path.join(folder, "model"))

import reverie_verl
import verl  # noqa: F401  has imported reverie_verl already, as VERL_USE_EXTERNAL_MODULES says
from torch.utils.data import DataLoader
from verl import DataProto
from verl.experimental.agent_loop import AgentLoopWorker
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.workers.rollout.replica import TokenOutput


class WrittenServer:
    """Answers the turns of a try; a try takes the next script when it begins. `null`: no answer ever comes."""

    def __init__(self, scripts):
        self.scripts, self.tries = list(scripts), {}

    async def generate(self, request_id, prompt_ids, sampling_params, **_):
        turns = self.tries.setdefault(request_id, None)
        if turns is None:
            turns = self.tries[request_id] = list(self.scripts.pop(0))
        said = turns.pop(0)
        if said is None:
            await asyncio.Event().wait()
        ids = tokenizer.encode(said + "<|im_end|>", add_special_tokens=False)
        extra = {"min_global_steps": 7, "max_global_steps": 7}
        return TokenOutput(token_ids=ids, log_probs=[-0.25] * len(ids), extra_fields=extra)


def config():
    model = os.path.join(folder, "model")
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose(
            "ppo_trainer",
            overrides=[
                f"actor_rollout_ref.model.path={model}",
                "+actor_rollout_ref.model.override_config.attn_implementation=eager",
                "actor_rollout_ref.rollout.name=vllm",
                f"actor_rollout_ref.rollout.prompt_length={given['prompt_length']}",
                f"actor_rollout_ref.rollout.response_length={given['response_length']}",
                "actor_rollout_ref.rollout.calculate_log_probs=True",
                f"+data.cache_dir={folder}/cache",
                f"data.max_prompt_length={given['prompt_length']}",
                "data.filter_overlong_prompts_workers=1",
                "algorithm.adv_estimator=reverie_grpo",
            ],
        )


def written_rows():
    path = os.path.join(folder, "train.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for row in reverie_verl.rows("train", given["count"]):
            file.write(json.dumps(row) + "\n")
    return path


def batch_of(rows, wanted, tries):
    """The row of the task, repeated as trainers do for a group."""
    row = next(row for row in rows if row["interaction_kwargs"]["task"] == wanted)
    batch = DataProto.from_single_dict(next(iter(DataLoader([row], batch_size=1, collate_fn=collate_fn))))
    batch.non_tensor_batch["uid"] = np.array([wanted], dtype=object)
    return batch.repeat(repeat_times=tries, interleave=True)


async def main():
    settings = config()
    dataset = RLHFDataset([written_rows()], tokenizer, settings.data)
    rows = [dataset[index] for index in range(len(dataset))]
    groups = []
    for group in given["groups"]:
        worker = AgentLoopWorker(settings, WrittenServer(group["scripts"]))
        played = await worker.generate_sequences(batch_of(rows, group["task"], len(group["scripts"])))
        played.batch["token_level_rewards"] = played.batch["rm_scores"]
        judged = compute_advantage(played, settings.algorithm.adv_estimator, config=settings.algorithm)
        groups.append([told(judged, row) for row in range(len(judged))])
    return {"rows": [row["interaction_kwargs"] for row in rows], "groups": groups}


def told(data, row):
    responses, mask = data.batch["responses"][row], data.batch["response_mask"][row]
    learnt, spans = mask.tolist(), []
    for at, kept in enumerate(learnt):
        if kept and (at == 0 or not learnt[at - 1]):
            spans.append([])
        if kept:
            spans[-1].append(responses[at].item())
    logprobs = data.batch["rollout_log_probs"][row]
    fields = data.non_tensor_batch
    attended, width = data.batch["attention_mask"][row] == 1, data.batch["prompts"].shape[1]
    is_response = attended[width:]
    return {
        "prompt": tokenizer.decode(data.batch["prompts"][row][attended[:width]]),
        "learnt": [tokenizer.decode(span) for span in spans],
        "response": tokenizer.decode(responses[is_response]),
        "logprobs": sorted(set(logprobs[mask == 1].tolist())),
        "unlearnt_logprobs": sorted(set(logprobs[(mask == 0) & is_response].tolist())),
        "score": data.batch["rm_scores"][row].sum().item(),
        "advantages": sorted(set(data.batch["advantages"][row][mask == 1].tolist())),
        "info": fields["reverie"][row],
        "return": fields["reverie_return"][row],
        "judged": fields["reverie_judged"][row],
        "versions": [fields["min_global_steps"][row], fields["max_global_steps"][row]],
    }


print("\nRESULT " + json.dumps(asyncio.run(main()), default=lambda value: value.item()))
