"""Decoding of a small Llama-architecture model in PyTorch: static cache of keys and values, one token a sequence and step.

Every step attends to exactly `context` positions and writes the last of them, so that nothing is masked or moved: less than
a program that really generates has to do. Attention in three forms, of which the fastest is taken: `sdpa`
(scaled_dot_product_attention), `flex` (FlexAttention), `products` (two batched products, one key-value head at a time).
"""

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import flex_attention


class TorchDecoder:
    def __init__(self, shape, rows, kv_heads, context, form, device):
        self.shape, self.rows, self.kv_heads, self.context, self.form = shape, rows, kv_heads, context, form
        self.width = shape["width"] // shape["heads"]
        bf16 = dict(device=device, dtype=torch.bfloat16)
        matrix = lambda i, o: torch.randn(i, o, **bf16) / i**0.5
        d, ffn, kv = shape["width"], shape["feedForward"], kv_heads * self.width
        self.embedding = torch.randn(shape["vocabulary"], d, **bf16)
        self.layers = [
            {"qkv": matrix(d, d + 2 * kv), "out": matrix(d, d), "gate_up": matrix(d, 2 * ffn), "down": matrix(ffn, d)}
            for _ in range(shape["layers"])
        ]
        for layer in self.layers:
            layer["norms"] = torch.rand(2, d, **bf16) + 0.5
            layer["keys"], layer["values"] = (torch.randn(rows, kv_heads, context, self.width, **bf16) for _ in range(2))
        self.final_norm = torch.rand(d, **bf16) + 0.5
        angle = context / 10000 ** (torch.arange(0, self.width, 2, device=device) / self.width)
        self.cosine, self.sine = angle.cos().to(torch.bfloat16), angle.sin().to(torch.bfloat16)
        self.tokens = torch.randint(shape["vocabulary"], (rows,), device=device)

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return torch.cat((a * self.cosine - b * self.sine, b * self.cosine + a * self.sine), -1)

    def attend(self, query, keys, values):
        """query [rows, heads, width]; keys and values [rows, kvHeads, context, width]."""
        rows, groups = self.rows, self.shape["heads"] // self.kv_heads
        if self.form == "products":
            grouped = query.view(rows, self.kv_heads, groups, self.width)
            weights = torch.softmax((grouped @ keys.transpose(-1, -2)).float() * self.width**-0.5, -1)
            return (weights.to(values.dtype) @ values).reshape(rows, -1)
        query = query.unsqueeze(2)
        if self.form == "flex":
            return flex_attention(query, keys, values, enable_gqa=groups > 1).reshape(rows, -1)
        return F.scaled_dot_product_attention(query, keys, values, enable_gqa=groups > 1).reshape(rows, -1)

    def step(self, tokens):
        """The next token of each sequence, drawn at temperature 1 by the largest of logits and Gumbel noise."""
        d, kv = self.shape["width"], self.kv_heads * self.width
        x = self.embedding[tokens]
        for layer in self.layers:
            y = F.rms_norm(x, (d,), layer["norms"][0], 1e-5) @ layer["qkv"]
            query, key, value = y.split((d, kv, kv), -1)
            query = self.turned(query.view(self.rows, -1, self.width))
            layer["keys"][:, :, -1] = self.turned(key.view(self.rows, self.kv_heads, self.width))
            layer["values"][:, :, -1] = value.view(self.rows, self.kv_heads, self.width)
            x = x + self.attend(query, layer["keys"], layer["values"]) @ layer["out"]
            gate, up = (F.rms_norm(x, (d,), layer["norms"][1], 1e-5) @ layer["gate_up"]).chunk(2, -1)
            x = x + (F.silu(gate) * up) @ layer["down"]
        logits = (F.rms_norm(x, (d,), self.final_norm, 1e-5) @ self.embedding.T).float()
        gumbel = -torch.log(-torch.log(torch.rand_like(logits).clamp_min(1e-20)))
        return (logits + gumbel).argmax(-1)


class Decoding:
    """`steps` tokens of each sequence."""

    def __init__(self, decoder, steps, mode):
        self.decoder, self.steps = decoder, steps
        self.step = decoder.step if mode == "eager" else torch.compile(decoder.step, dynamic=False)

    def run(self):
        tokens = self.decoder.tokens
        for _ in range(self.steps):
            tokens = self.step(tokens)
        return tokens


def make_decode(device, prepared_work, fastest, mode, rows, kv_heads, context, steps, precision, **shape):
    """Work of one mode. Plain FlexAttention without a compiler is a slow reference: it is not asked of `eager`."""
    forms = ["sdpa", "products"] + (["flex"] if mode != "eager" and device == "cuda" else [])

    def candidate(form):
        def make():
            torch.manual_seed(0)
            return Decoding(TorchDecoder(shape, rows, kv_heads, context, form, device), steps, mode).run

        return lambda: prepared_work(make, mode, precision, {"form": form})

    return fastest([candidate(form) for form in forms])
