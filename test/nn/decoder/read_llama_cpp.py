"""What llama.cpp makes of a saved decoder's GGUF file. Standard input: {file, port, texts, prompts, tokens, letter}."""

import json
import sys
import urllib.request

import xllamacpp

request = json.load(sys.stdin)
params = xllamacpp.CommonParams()
params.model.path = request["file"]
params.hostnames = ["127.0.0.1"]
params.port = request["port"]
params.n_parallel = 1
params.n_ctx = 64
params.cpuparams.n_threads = 1
params.warmup = False
# Its cache and fused attention are of half precision otherwise, in which nothing agrees to more than three digits.
params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = xllamacpp.Server(params)


def ask(path, body):
    url = f"http://127.0.0.1:{request['port']}{path}"
    sent = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(sent, timeout=60) as reply:
        return json.load(reply)


def log_probs(prompt):
    """Of every token after the prompt, by id."""
    # Nothing is told where half of a character is drawn, so a letter is; what is told comes before this bias.
    bias = [[request["letter"], 1000]]
    body = {"prompt": prompt, "n_predict": 1, "n_probs": request["tokens"], "cache_prompt": False, "logit_bias": bias}
    top = ask("/completion", body)["completion_probabilities"][0]["top_logprobs"]
    return {entry["id"]: entry["logprob"] for entry in top}


answer = {
    "ids": [ask("/tokenize", {"content": text, "add_special": False, "parse_special": False})["tokens"] for text in request["texts"]],
    "log_probs": [log_probs(prompt) for prompt in request["prompts"]],
}
print("\nRESULT " + json.dumps(answer), flush=True)
