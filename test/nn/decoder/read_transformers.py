"""What Hugging Face's transformers and tokenizers make of a saved decoder. Standard input: {folders, texts, prompts}."""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

request = json.load(sys.stdin)
torch.set_num_threads(1)


def read(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = [model(torch.tensor([prompt])).logits[0] for prompt in request["prompts"]]
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in request["texts"]]
    return {
        "architecture": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "ids": ids,
        "texts": [tokenizer.decode(each, clean_up_tokenization_spaces=False) for each in ids],
        "special": [tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id],
        "log_probs": [torch.log_softmax(each, dim=-1).tolist() for each in logits],
    }


print("\nRESULT " + json.dumps([read(folder) for folder in request["folders"]]))
