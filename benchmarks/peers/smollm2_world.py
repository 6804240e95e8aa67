"""SmolLM2-135M-Instruct as a world model: trained by TRL on the export `world-model`, and served as OpenAI's API.

Greedy, so nothing is drawn. Requests that come together are answered together.
"""

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from datasets import Dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

from peer import serve
from smollm2_trl import USUAL, learnt, model_of, setup

# Seconds in which requests are gathered to one batch.
GATHER = 0.5


def rows_of(path, tokenizer, longest, reply):
    """Rows of the export that are short enough, whole and in what is to be learned."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    whole = lambda row: len(tokenizer.apply_chat_template([*row["prompt"], *row["completion"]], return_dict=False))
    learned = lambda row: len(tokenizer.encode(row["completion"][0]["content"]))
    return [row for row in rows if learned(row) <= reply and whole(row) <= longest]


def chosen(rows, count, seed):
    """As many calls that change something as calls that do not, where there are both, drawn by the seed."""
    draw = random.Random(seed)
    changes = lambda row: bool(json.loads(row["completion"][0]["content"])["operations"])
    writes, reads = [row for row in rows if changes(row)], [row for row in rows if not changes(row)]
    draw.shuffle(writes)
    draw.shuffle(reads)
    half = max(min(count // 2, len(writes)), count - len(reads))
    drawn = [*writes[:half], *reads[: count - half]]
    draw.shuffle(drawn)
    return drawn


def train(base, data, out, seed, count, longest, reply, settings):
    tokenizer = AutoTokenizer.from_pretrained(base)
    rows = chosen(rows_of(data, tokenizer, longest, reply), count, seed)
    if len(rows) < count:
        raise ValueError(f"only {len(rows)} of {count} rows have at most {longest} tokens")
    config = SFTConfig(output_dir=out, seed=seed, max_length=None, bf16=False, use_cpu=True, **USUAL, **settings)
    trainer = SFTTrainer(
        model=model_of(base, seed=seed).float(), args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )
    return {"rows": len(rows), "log": learnt(trainer, out)}


class Waiting:
    """A request, until its batch is answered."""

    def __init__(self, request):
        self.messages, self.longest = request["messages"], request.get("max_tokens") or request.get("max_completion_tokens")
        self.done, self.text, self.tokens = threading.Event(), "", (0, 0)


class Served:
    def __init__(self, base, adapter):
        self.tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
        # Few processors compute in bfloat16.
        self.model = model_of(base, adapter, learns=False).float().eval()
        self.waiting, self.lock, self.more = [], threading.Lock(), threading.Event()
        threading.Thread(target=self.work, daemon=True).start()

    def ask(self, request):
        one = Waiting(request)
        with self.lock:
            self.waiting.append(one)
        self.more.set()
        one.done.wait()
        return one

    def work(self):
        while self.more.wait():
            # Others that were sent at the same time.
            threading.Event().wait(GATHER)
            with self.lock:
                batch, self.waiting = self.waiting, []
                self.more.clear()
            if batch:
                self.answer(batch)

    @torch.inference_mode()
    def answer(self, batch):
        texts = [self.tokenizer.apply_chat_template(one.messages, tokenize=False, add_generation_prompt=True) for one in batch]
        read = self.tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        longest = max(one.longest for one in batch)
        whole = self.model.generate(**read, max_new_tokens=longest, do_sample=False, pad_token_id=self.tokenizer.pad_token_id)
        width = read["input_ids"].shape[1]
        for one, ids, mask in zip(batch, whole, read["attention_mask"]):
            written = ids[width:]
            one.text = self.tokenizer.decode(written, skip_special_tokens=True)
            one.tokens = (int(mask.sum()), int((written != self.tokenizer.pad_token_id).sum()))
            one.done.set()


SERVED = None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        one = SERVED.ask(request)
        prompt, completion = one.tokens
        message = {"role": "assistant", "content": one.text}
        reply = {
            "id": "reply", "object": "chat.completion", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


SERVER = None


def start(base, adapter=None):
    """Serves the weights, with what was learned where a folder says so; answers the address."""
    global SERVED, SERVER
    if SERVER is not None:
        SERVER.shutdown()
    SERVED = Served(base, adapter)
    SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    SERVER.daemon_threads = True
    threading.Thread(target=SERVER.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{SERVER.server_address[1]}/v1"


if __name__ == "__main__":
    serve({"setup": setup, "train": train, "start": start})
