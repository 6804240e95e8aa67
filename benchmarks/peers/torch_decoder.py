"""The decoder of src/nn/decoder in PyTorch, with the same weights: greedy decoding with a static cache, and a training step.

Written as one would by hand: scaled_dot_product_attention, fused AdamW, inference mode. `setup` tries each form as it is and
through torch.compile, and keeps the faster one.
"""

import json
import struct
import time

import numpy as np
import torch
import torch.nn.functional as F

from peer import serve

state = {}


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    tensor = lambda e: np.frombuffer(data[slice(*e["data_offsets"])], np.float32).reshape(e["shape"]).copy()
    return {name: torch.from_numpy(tensor(entry)) for name, entry in header.items()}


class Block(torch.nn.Module):
    def __init__(self, config, weights, prefix):
        super().__init__()
        parameter = lambda name: torch.nn.Parameter(weights[f"{prefix}.{name}.weight"].clone())
        self.norm1, self.norm2 = parameter("input_layernorm"), parameter("post_attention_layernorm")
        together = lambda *names: torch.nn.Parameter(torch.cat([weights[f"{prefix}.{n}.weight"] for n in names]))
        self.qkv = together("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        self.out = parameter("self_attn.o_proj")
        self.gate_up, self.down = together("mlp.gate_proj", "mlp.up_proj"), parameter("mlp.down_proj")
        self.config = config

    def forward(self, x, cos, sin, cache=None, at=None, mask=None):
        c = self.config
        heads, kv, width = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        batch, tokens, size = x.shape
        h = F.rms_norm(x, (size,), self.norm1, c["rms_norm_eps"])
        q, k, v = F.linear(h, self.qkv).view(batch, tokens, -1, width).transpose(1, 2).split([heads, kv, kv], 1)
        q, k = turn(q, cos, sin), turn(k, cos, sin)
        if cache is not None:
            keys, values = cache
            keys.index_copy_(2, at, k)
            values.index_copy_(2, at, v)
            k, v = keys, values
        answer = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=cache is None, enable_gqa=heads != kv
        )
        x = x + F.linear(answer.transpose(1, 2).reshape(batch, tokens, heads * width), self.out)
        gate, up = F.linear(F.rms_norm(x, (size,), self.norm2, c["rms_norm_eps"]), self.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


def turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Decoder(torch.nn.Module):
    def __init__(self, config, weights):
        super().__init__()
        self.config = config
        self.embedding = torch.nn.Parameter(weights["model.embed_tokens.weight"].clone())
        self.norm = torch.nn.Parameter(weights["model.norm.weight"].clone())
        count = config["num_hidden_layers"]
        self.blocks = torch.nn.ModuleList([Block(config, weights, f"model.layers.{i}") for i in range(count)])
        half = torch.arange(0, config["head_dim"], 2).float() / config["head_dim"]
        angles = torch.outer(torch.arange(config["max_position_embeddings"]).float(), config["rope_theta"] ** -half)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens):
        x = F.embedding(tokens, self.embedding)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.logits(x)

    def step(self, tokens, at, mask, caches):
        x = F.embedding(tokens, self.embedding)
        for block, cache in zip(self.blocks, caches):
            x = block(x, self.cos[at], self.sin[at], cache, at, mask)
        return self.logits(x)[:, -1]

    def logits(self, x):
        return F.linear(F.rms_norm(x, (x.shape[-1],), self.norm, self.config["rms_norm_eps"]), self.embedding)


def setup(folder):
    torch.set_num_threads(1)
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    state["weights"] = read_safetensors(f"{folder}/model.safetensors")
    state["config"] = config
    state["step_forms"], state["train_forms"] = {}, {}
    return {"torch": torch.__version__}


def fastest(forms, key, candidates):
    """The name of the fastest of some functions, tried once for each key; forms that do not compile here are left out."""
    if key not in forms:
        seconds = {}
        for name, run in candidates.items():
            try:
                run()
                start = time.perf_counter()
                run()
                seconds[name] = time.perf_counter() - start
            except Exception:
                if name == "eager":
                    raise
        forms[key] = min(seconds, key=seconds.get)
    return forms[key]


def decode_with(step, model, batch, tokens, limit=None):
    c = model.config
    shape = (batch, c["num_key_value_heads"], tokens, c["head_dim"])
    caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in model.blocks]
    mask = torch.full((1, 1, 1, tokens), float("-inf"))
    token = torch.ones(batch, 1, dtype=torch.long)
    said = []
    start = time.perf_counter()
    with torch.inference_mode():
        for i in range(limit or tokens):
            mask[..., i] = 0
            token = step(token, torch.tensor([i]), mask, caches).argmax(-1, keepdim=True)
            said.append(token)
    return time.perf_counter() - start, torch.cat(said, 1)[0].tolist()


def decode(batch, tokens):
    """Seconds to generate `tokens` tokens in each of `batch` rows, and the first row's."""
    if "decoder" not in state:
        model = Decoder(state["config"], state["weights"]).eval()
        state["decoder"] = model, {"eager": model.step, "compiled": torch.compile(model.step, dynamic=False)}
    model, steps = state["decoder"]
    tries = {name: (lambda step=step: decode_with(step, model, batch, tokens, min(tokens, 16))) for name, step in steps.items()}
    form = fastest(state["step_forms"], batch, tries)
    seconds, said = decode_with(steps[form], model, batch, tokens)
    return {"seconds": seconds, "tokens": said, "form": form}


def train(batch, length, steps, lr):
    """Seconds of `steps` gradient steps of AdamW on random tokens."""
    forms = state.setdefault("trainers", {})
    if batch not in forms:
        tokens = torch.randint(state["config"]["vocab_size"], (batch, length + 1))
        forms[batch] = {name: trainer(tokens, lr, name) for name in ("eager", "compiled")}
    form = fastest(state["train_forms"], batch, forms[batch])
    start = time.perf_counter()
    for _ in range(steps):
        forms[batch][form]()
    return {"seconds": time.perf_counter() - start, "form": form}


def trainer(tokens, lr, form):
    model = Decoder(state["config"], state["weights"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.99), weight_decay=0.01, fused=True)
    forward = torch.compile(model) if form == "compiled" else model

    def run():
        logits = forward(tokens[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return run


serve({"setup": setup, "decode": decode, "train": train})
