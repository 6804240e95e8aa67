"""verl (0.9): an agent loop that plays an environment of a Reverie server, and the advantage that goes with it.

    export REVERIE_URL=http://127.0.0.1:8000 REVERIE_ENV=helpdesk
    python reverie_verl.py train.jsonl                      # a row for each task, its first messages as the prompt
    python reverie_verl.py test.jsonl --split validation
    PYTHONPATH=. VERL_USE_EXTERNAL_MODULES=reverie_verl python -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=reverie_grpo data.train_files=train.jsonl data.val_files=test.jsonl \\
        actor_rollout_ref.rollout.n=8 actor_rollout_ref.rollout.multi_turn.format=hermes ...

A row is played as its `extra_info.interaction_kwargs` say, `{"name", "task", "seed"}`: rows that `reverie synth` or
`reverie export` wrote play as well. All tries of a group get the same task and seed. What the model wrote stays the tokens
it wrote, with their log-probabilities; what the environment answers is appended to them and is never learnt.

An episode that nobody could judge, was cut, or ran out of tokens has no reward, which is not the reward 0: all its tokens
are masked, and `reverie_grpo` leaves it out of its group's mean and deviation, where verl's own `grpo` would count a 0. In
validation, too, read `reverie_return` and `reverie_judged`: verl's `reward` counts a 0 for it.
"""

import argparse
import asyncio
import concurrent.futures
import json
import logging
import os
import re
import statistics
import time
import urllib.error
import urllib.request
import uuid
import zlib

import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register
from verl.experimental.agent_loop.tool_parser import ToolParser
from verl.tools.schemas import OpenAIFunctionToolSchema
from verl.trainer.ppo.core_algos import register_adv_est

URL = os.environ.get("REVERIE_URL", "http://127.0.0.1:8000").rstrip("/")
ENV = os.environ["REVERIE_ENV"]
#: Rows of an environment without tasks, whose episodes differ by their seed.
SEEDS = 64
#: Seconds an episode may take, from its reset to its end.
EPISODE_SECONDS = float(os.environ.get("REVERIE_EPISODE_SECONDS", "1200"))
#: Once half a group has ended, the others are cut after as many times its median, but not before GRACE_SECONDS.
STRAGGLER = float(os.environ.get("REVERIE_STRAGGLER", "3"))
GRACE_SECONDS = float(os.environ.get("REVERIE_GRACE_SECONDS", "60"))
#: Episodes without a verdict, one after another, at which something is wrong and training stops.
GIVE_UP = int(os.environ.get("REVERIE_GIVE_UP", "256"))
#: Refusals that the model may do better after: it is told them, and nothing has happened.
MENDABLE = ("REQUEST_INVALID", "ACTION_OUT_OF_SPACE")

logger = logging.getLogger("reverie_verl")
# Steps wait for the server: as many at a time as a worker has episodes, not as it has cores.
threads = concurrent.futures.ThreadPoolExecutor(256, "reverie")


TRIES = 5


class Refused(RuntimeError):
    """What the server refuses, with its own sentence and hint."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


class Lost(RuntimeError):
    """Why an episode has no verdict."""


def ask(method, path, body=None):
    """The JSON the server answers. Sent again where it could not be reached or was full. Raises Refused or Lost."""
    headers = {"content-type": "application/json"}
    if "REVERIE_TOKEN" in os.environ:
        headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
    data = None if body is None else json.dumps(body).encode()
    for tried in range(1, TRIES + 1):
        request = urllib.request.Request(URL + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                text = reply.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as answer:
            problem = _refusal(answer)
            if answer.code != 429 and answer.code < 500:
                raise problem from answer
        except (OSError, ValueError) as error:
            problem = error
        if tried < TRIES:
            time.sleep(2.0 ** (tried - 1))
    raise Lost(f"{method} {path}: {problem}") from problem


def _refusal(answer):
    try:
        error = json.loads(answer.read())["error"]
        return Refused(error["code"], f"{error['message']} {error['hint']}")
    except (ValueError, KeyError, TypeError):
        return Refused(f"HTTP_{answer.code}", f"The server answered {answer.code}.")


class Session:
    """One episode on the server. A request sent again does nothing twice."""

    def __init__(self, task, seed):
        self.path = "/v1/sessions/" + ask("POST", "/v1/sessions", {"env": ENV})["id"]
        self.start = {key: value for key, value in {"task": task, "seed": seed}.items() if value is not None}

    def reset(self):
        return ask("POST", self.path + "/reset", {**self.start, "request_id": uuid.uuid4().hex})

    def step(self, action):
        return ask("POST", self.path + "/step", {"action": action, "request_id": uuid.uuid4().hex})

    def close(self):
        try:
            ask("DELETE", self.path)
        except (Refused, Lost):
            pass  # closed already, or left: the server closes those that nobody asked for a while


def messages_of(observation):
    """What an observation adds to the conversation, as chat messages."""
    if not isinstance(observation, dict):
        return [{"role": "user", "content": observation}]
    kept = ("role", "content", "tool_call_id", "name")
    return [{key: message[key] for key in kept if message.get(key) is not None} for message in observation["messages"]]


class Group:
    """Tries at one start, on this worker: the slowest cannot keep the others, and the whole batch, waiting."""

    groups = {}

    def __init__(self, key):
        self.key, self.size, self.running, self.seconds = key, 0, 0, []

    @classmethod
    def join(cls, key):
        group = cls.groups.setdefault(key, cls(key))
        group.size += 1
        group.running += 1
        return group

    def leave(self, seconds=None):
        self.running -= 1
        if seconds is not None:
            self.seconds.append(seconds)
        if self.running == 0:
            self.groups.pop(self.key, None)

    def limit(self):
        if len(self.seconds) * 2 < self.size:
            return EPISODE_SECONDS
        return min(EPISODE_SECONDS, max(GRACE_SECONDS, STRAGGLER * statistics.median(self.seconds)))


class Episode:
    """What has been said so far, as tokens: those before the first turn, and after it with mask and log-probabilities."""

    def __init__(self, session, messages, prompt_ids, with_logprobs):
        self.session, self.messages, self.token_ids = session, messages, prompt_ids
        self.mask, self.logprobs = [], [] if with_logprobs else None
        self.turns, self.reward, self.is_done = [], 0.0, False

    def take(self, turn):
        self.is_done = turn["terminated"] or turn["truncated"]
        unjudged = turn["reward"] is None or self.reward is None
        self.reward = None if unjudged else self.reward + turn["reward"]


@register("reverie")
class ReverieAgentLoop(AgentLoopBase):
    lost_in_a_row = 0
    card = None

    def __init__(self, *args, tools=None, **kwargs):
        super().__init__(*args, **kwargs)
        multi_turn = self.rollout_config.multi_turn
        self.max_turns = multi_turn.get("max_assistant_turns") or None
        self.parser = ToolParser.get_tool_parser(multi_turn.get("format", "hermes"), self.tokenizer)
        self.response_length = self.rollout_config.response_length

    async def run(self, sampling_params, priority=0, **row):
        given = row.get("interaction_kwargs") or (row.get("extra_info") or {}).get("interaction_kwargs") or {}
        key = str(row.get("uid", uuid.uuid4()))
        seed = given.get("seed")
        start = {"task": given.get("task"), "seed": zlib.crc32(key.encode()) if seed is None else int(seed)}
        self.episode, self.metrics = None, {"generate_sequences": 0.0, "tool_calls": 0.0}
        group, began, reason = Group.join(key), time.monotonic(), None
        try:
            await self._in_time(asyncio.ensure_future(self._play(start, sampling_params)), group, began)
        except Lost as lost:
            reason = str(lost)
        group.leave(None if reason else time.monotonic() - began)
        if reason is None and self.episode.reward is None:
            reason = "its end could not be judged"
        self._count(reason, start)
        return await self._output(reason, start, list(row["raw_prompt"]), sampling_params, row.get("global_steps"))

    async def _in_time(self, playing, group, began):
        """Waits for the episode; raises Lost where it is cut."""
        while True:
            await asyncio.wait({playing}, timeout=min(1.0, EPISODE_SECONDS))
            if playing.done():
                return playing.result()
            limit = group.limit()
            if time.monotonic() - began > limit:
                playing.cancel()
                await asyncio.wait({playing})
                why = "too slow" if limit == EPISODE_SECONDS else "far slower than the others of its group"
                raise Lost(f"cut after {time.monotonic() - began:.0f} s: {why}")

    async def _play(self, start, sampling_params):
        tools = await self._tools()
        session = await self._ask(Session, start["task"], start["seed"])
        try:
            messages = messages_of((await self._ask(session.reset))["observation"])
            prompt_ids = await self.ct_build_initial_tokens(messages, tools=tools or None)
            if len(prompt_ids) >= self.rollout_config.prompt_length:
                raise ValueError(
                    f"The rules, tools and first messages of {ENV} are {len(prompt_ids)} tokens or more: "
                    f"rollout.prompt_length={self.rollout_config.prompt_length} would cut them. Raise data.max_prompt_length."
                )
            self.episode = Episode(session, messages, prompt_ids, bool(sampling_params.get("logprobs")))
            while not self.episode.is_done:
                await self._turn(self.episode, tools, sampling_params)
        finally:
            threads.submit(session.close)

    async def _turn(self, episode, tools, sampling_params):
        ids = await self._generate(episode, sampling_params)
        if len(episode.mask) >= self.response_length:
            raise Lost(f"out of tokens: rollout.response_length={self.response_length}")
        message, action = await self._action(ids, tools)
        before = [*episode.messages, message]
        answer = await self._step(episode, action)
        if episode.is_done:
            return
        if self.max_turns and len(episode.turns) >= self.max_turns:
            raise Lost(f"out of turns: multi_turn.max_assistant_turns={self.max_turns}")
        merged, mask, logprobs = await self.ct_merge_context_msg(
            before, [*before, *answer], episode.token_ids, episode.mask, episode.logprobs, tools=tools or None
        )
        if len(mask) >= self.response_length:
            raise Lost(f"out of tokens: rollout.response_length={self.response_length}")
        episode.messages = [*before, *answer]
        episode.token_ids, episode.mask, episode.logprobs = merged.token_ids, mask, logprobs

    async def _generate(self, episode, sampling_params):
        """The model's next turn, appended as the tokens it is. Answers them."""
        asked = time.monotonic()
        output = await self.server_manager.generate(
            request_id=episode.session.path.rsplit("/", 1)[-1],
            prompt_ids=episode.token_ids,
            sampling_params=sampling_params,
        )
        self.metrics["generate_sequences"] += time.monotonic() - asked
        if not output.token_ids:
            raise Lost(f"the model's server answered no token ({output.stop_reason})")
        merged, episode.mask, episode.logprobs = await self.ct_merge_assistant_token(
            episode.token_ids,
            output.token_ids,
            episode.mask,
            episode.logprobs,
            assistant_logprobs=output.log_probs if episode.logprobs is not None else None,
        )
        episode.token_ids = merged.token_ids
        versions = {key: output.extra_fields.get(key) for key in ("min_global_steps", "max_global_steps")}
        episode.turns.append({"tokens": len(output.token_ids), **versions})
        return output.token_ids

    async def _action(self, ids, tools):
        """The turn as a chat message and as the environment's action; None where it is neither speech nor a call."""
        said, calls = await self.parser.extract_tool_calls(ids, [_parsed_schema(tool) for tool in tools])
        for token in self.tokenizer.all_special_tokens:
            said = said.replace(token, "")
        said = re.sub(r"^\s*<think>.*?</think>", "", said, flags=re.DOTALL).strip()
        if not tools:
            return {"role": "assistant", "content": said}, said or None
        read = [{"name": call.name, "arguments": _object(call.arguments)} for call in calls]
        message = {"role": "assistant", "content": said}
        if not read:
            return message, {"content": said} if said else None
        message["tool_calls"] = [{"type": "function", "function": call} for call in read]
        if any(call["arguments"] is None for call in read):
            return message, None
        return message, {**({"content": said} if said else {}), "tool_calls": read}

    async def _step(self, episode, action):
        """What the environment answers, as messages; a refusal, where the model is to do better."""
        if action is None:
            return [{"role": "user", "content": "Error: that was neither a call that can be read nor anything said."}]
        asked = time.monotonic()
        try:
            turn = await self._ask(episode.session.step, action)
        except Refused as refusal:
            if refusal.code not in MENDABLE:
                raise
            return [{"role": "user", "content": f"Error: {refusal}"}]
        finally:
            self.metrics["tool_calls"] += time.monotonic() - asked
        episode.take(turn)
        return messages_of(turn["observation"])

    async def _tools(self):
        if ReverieAgentLoop.card is None:
            ReverieAgentLoop.card = await self._ask(ask, "GET", f"/v1/environments/{ENV}")
        return [{"type": "function", "function": tool} for tool in ReverieAgentLoop.card["tools"]]

    async def _ask(self, what, *args):
        return await asyncio.get_running_loop().run_in_executor(threads, what, *args)

    def _count(self, reason, start):
        if reason is None:
            ReverieAgentLoop.lost_in_a_row = 0
            return
        ReverieAgentLoop.lost_in_a_row += 1
        logger.warning("left out: task %s, seed %s: %s", start["task"], start["seed"], reason)
        if ReverieAgentLoop.lost_in_a_row >= GIVE_UP:
            raise RuntimeError(f"None of the last {GIVE_UP} episodes of {ENV} has a verdict; the latest: {reason}.")

    async def _output(self, reason, start, raw_prompt, sampling_params, step):
        """The episode as verl takes it: at least one token, and none that is learnt where there is no verdict."""
        episode, judged = self.episode, reason is None
        if episode is None or not episode.mask:
            prompt_ids = await self.ct_build_initial_tokens(raw_prompt)
            response_ids, mask = [self.tokenizer.eos_token_id], [0]
            logprobs = [0.0] if sampling_params.get("logprobs") else None
        else:
            split = len(episode.token_ids) - len(episode.mask)
            prompt_ids, response_ids = episode.token_ids[:split], episode.token_ids[split:][: self.response_length]
            mask = [kept if judged else 0 for kept in episode.mask[: self.response_length]]
            logprobs = episode.logprobs and episode.logprobs[: self.response_length]
        turns = episode.turns if episode is not None else []
        first, last = (turns[0], turns[-1]) if turns else ({}, {})
        return AgentLoopOutput(
            prompt_ids=prompt_ids,
            response_ids=response_ids,
            response_mask=mask,
            response_logprobs=logprobs,
            reward_score=episode.reward if judged else 0.0,
            num_turns=2 * len(turns) + 1,
            metrics=self.metrics,
            extra_fields={
                "turn_scores": [],
                "tool_rewards": [],
                "min_global_steps": first.get("min_global_steps", step),
                "max_global_steps": last.get("max_global_steps", step),
                "reward_extra_info": {
                    "reverie_return": episode.reward if judged else None,
                    "reverie_judged": float(judged),
                },
                "reverie": {**start, "left_out": reason, "turns": turns},
            },
        )


def _parsed_schema(tool):
    """What verl's parsers know of a tool: the types of its parameters, one level deep."""
    given = tool["function"]["parameters"].get("properties", {})
    properties = {name: {"type": schema.get("type", "object")} for name, schema in given.items()}
    function = {**tool["function"], "parameters": {"type": "object", "properties": properties}}
    return OpenAIFunctionToolSchema(type="function", function=function)


def _object(text):
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@register_adv_est("reverie_grpo")
def grpo_over_judged(token_level_rewards, response_mask, index, config=None, epsilon=1e-6, **_):
    """GRPO's advantage (arXiv 2402.03300) over the episodes of a group that have a verdict; 0 where fewer than two have.

    Args:
        token_level_rewards: (episodes, tokens)
        response_mask: (episodes, tokens); a row of zeros has no verdict
        index: the group of each episode
    Returns: advantages and returns, (episodes, tokens) both
    """
    by_std = True if config is None else config.get("norm_adv_by_std_in_grpo", True)
    with torch.no_grad():
        scores = token_level_rewards.sum(dim=-1)
        judged = response_mask.sum(dim=-1) > 0
        advantage = torch.zeros_like(scores)
        for group in set(index):
            rows = [row for row, of in enumerate(index) if of == group and judged[row]]
            if len(rows) < 2:
                continue
            centred = scores[rows] - scores[rows].mean()
            advantage[rows] = centred / (scores[rows].std() + epsilon) if by_std else centred
        advantages = advantage.unsqueeze(-1) * response_mask
    return advantages, advantages


def rows(split, count=None):
    """Rows for RLHFDataset: a task and a seed each, and what is said first as the prompt."""
    listed = [task["id"] for task in ask("GET", f"/v1/environments/{ENV}/tasks?split={split}")["tasks"]] or [None]
    for index in range(count or (len(listed) if listed[0] else SEEDS)):
        task = listed[index % len(listed)]
        session = Session(task, index)
        prompt = messages_of(session.reset()["observation"])
        session.close()
        yield {
            "data_source": f"reverie/{ENV}",
            "agent_name": "reverie",
            "prompt": prompt,
            "ability": "agent",
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {
                "split": split,
                "index": index,
                "need_tools_kwargs": False,
                "interaction_kwargs": {"name": "reverie", "task": task, "seed": index},
            },
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes rows of the environment for verl.")
    parser.add_argument("file")
    parser.add_argument("--split", default="train")
    parser.add_argument("--count", type=int, help="rows; one for each task unless given")
    given = parser.parse_args()
    with open(given.file, "w", encoding="utf-8") as file:
        for row in rows(given.split, given.count):
            file.write(json.dumps(row) + "\n")
