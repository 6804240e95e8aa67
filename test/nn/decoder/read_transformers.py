"""What Hugging Face's transformers and tokenizers make of a saved decoder. Standard input: {folder, texts, prompts}."""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

request = json.load(sys.stdin)
torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(request["folder"])
model = AutoModelForCausalLM.from_pretrained(request["folder"], dtype=torch.float32).eval()
log_probs = []
with torch.no_grad():
    for prompt in request["prompts"]:
        logits = model(torch.tensor([prompt])).logits[0]
        log_probs.append(torch.log_softmax(logits, dim=-1).tolist())
encode = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
answer = {
    "architecture": type(model).__name__,
    "parameters": sum(p.numel() for p in model.parameters()),
    "ids": [encode(text) for text in request["texts"]],
    "texts": [tokenizer.decode(encode(text), clean_up_tokenization_spaces=False) for text in request["texts"]],
    "special": [tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id],
    "log_probs": log_probs,
}
print("\nRESULT " + json.dumps(answer))
