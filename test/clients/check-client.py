"""What the Python client does against a server, told as JSON; see python-client.test.ts."""

import json
import re
import socket
import sys
import threading
import warnings

import numpy as np

import reverie_client
from reverie_client import ReverieError, ReverieToolsEnv, make, make_vec


def code_of(work):
    try:
        work()
    except ReverieError as error:
        return [error.code, bool(error.hint), error.status]
    return None


def check_env(url, name):
    """Gymnasium's own checker; what it warns of counts, but for bounds, which are the environment's."""
    from gymnasium.utils.env_checker import check_env as check

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with make(url, name) as one:
            check(one, skip_render_check=True)
    return [str(one.message) for one in heard if not re.search(r"symmetric and normalized|infinity", str(one.message))]


def same_as_rows(url, name, mode, steps):
    """A vector session against Gymnasium's own vector of single sessions."""
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    ours = make_vec(url, 3, name, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: make(url, name)] * 3, autoreset_mode=AutoresetMode[mode.upper()])
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    ours.action_space.seed(0)
    compared = [(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])]
    finals = ends = 0
    for _ in range(steps):
        actions = ours.action_space.sample()
        (o, r, d, t, i), (o2, r2, d2, t2, i2) = ours.step(actions), theirs.step(actions)
        assert r.dtype == np.float64 and d.dtype == t.dtype == np.bool_ and ours.observation_space.contains(o)
        compared += [(o, o2), (r.astype(np.float32), r2.astype(np.float32)), (d, d2), (t, t2)]
        ends += int((d | t).sum())
        if mode == "same_step":
            assert ("final_obs" in i) == ("final_obs" in i2)
            if "final_obs" in i:
                finals += int(i["_final_obs"].sum())
                compared.append((i["_final_obs"], i2["_final_obs"]))
                compared += [pair for pair in zip(i["final_obs"], i2["final_obs"]) if pair[0] is not None]
                assert i["_final_info"].tolist() == i["_final_obs"].tolist()
    ours.close()
    theirs.close()
    return {
        "same": all(np.array_equal(a, b) for a, b in compared),
        "ends": ends,
        "finals": finals,
    }


def branches(url):
    with make(url, "pendulum") as env:
        env.reset(seed=3)
        env.step([1.0])
        kept = env.snapshot()
        first = env.step([-1.0])[0]
        forks = env.fork(2)
        onward = env.step([0.5])[0]
        forked = [fork.step([0.5])[0] for fork in forks]
        for fork in forks:
            fork.close()
        info = env.restore(kept)[1]
        again = env.step([-1.0])[0]
        started = env.reset(options={"snapshot": kept})[1]
        return {
            "forks": all(np.array_equal(one, onward) for one in forked),
            "again": np.array_equal(first, again),
            "counts": [info["step_count"], started["step_count"]],
            "state": env.state()["env"],
        }


def unseeded(url):
    """Two environments without a seed part, and are the same with Gymnasium's."""
    with make(url, "pendulum") as a, make(url, "pendulum") as b, make_vec(url, 2, "pendulum") as rows:
        parted = not np.array_equal(a.reset()[0], b.reset()[0])
        start = rows.reset()[0]
        seeded = [a.reset(seed=4)[0], b.reset(seed=5)[0]]
        both = rows.reset(seed=4)[0]
        each = rows.reset(seed=[5, None])[0]
        return {
            "parted": parted and not np.array_equal(start[0], start[1]),
            "convention": np.array_equal(both, np.stack(seeded)),
            "list": np.array_equal(each[0], seeded[1]),
        }


def refusals(url):
    with make(url, "pendulum") as env, make_vec(url, 2, "pendulum") as rows:
        rows.reset(seed=1)
        before = rows.state()["transitions"]
        found = {
            "unknown": code_of(lambda: make(url, "nowhere")),
            "not_reset": code_of(lambda: env.step([0.0])),
            "outside": code_of(lambda: rows.step(np.full((2, 1), 99, np.float32))),
            "unreachable": code_of(lambda: make("http://127.0.0.1:9", retries=0)),
            "not_tools": code_of(lambda: ReverieToolsEnv(url, "pendulum")),
            "not_vector": code_of(lambda: make_vec(url, 2, "helpdesk")),
            "stepped": rows.state()["transitions"] - before,
        }
        for bad in ({"task": 1, "sede": 2}, {"mask": []}):
            try:
                (rows if "mask" in bad else env).reset(options=bad)
            except ValueError as error:
                found.setdefault("options", []).append(str(error))
        return found


def tools(url):
    with ReverieToolsEnv(url, "helpdesk") as env:
        turn = env.reset(split="train", index=0, seed=1)
        roles = [message["role"] for message in turn.messages]
        kept = env.snapshot()
        wrong = env.call("no_such_tool", name="x")
        said = env.step(content="Hello?")
        fork = env.fork()[0]
        forked = fork.step(content="Bye.").info["step_count"]
        fork.close()
        restored = env.restore(kept)
        return {
            "tools": env.tools[0]["type"],
            "roles": roles,
            "wrong": [wrong.is_error, wrong.messages[-1]["name"], wrong.done],
            "said": said.messages[-1]["role"],
            "reward": [turn.reward, wrong.reward],
            "forked": forked,
            "restored": restored.info["step_count"],
        }


def tools_as_gym(url):
    with make(url, "helpdesk") as env:
        observation, info = env.reset(seed=1, options={"split": "train", "index": 0})
        call = json.dumps({"tool_calls": [{"name": "no_such_tool", "arguments": {}}]})
        after, reward, terminated, truncated, _ = env.step(call)
        return {
            "in_space": env.observation_space.contains(observation) and env.observation_space.contains(after),
            "first": json.loads(observation)[0]["role"],
            "error": json.loads(after)[-1]["is_error"],
            "reward": reward,
            "task": bool(info["task"]),
        }


class LosesAnswers(threading.Thread):
    """Between client and server: passes requests on, and hangs up instead of the first answers to steps."""

    def __init__(self, url, losses):
        super().__init__(daemon=True)
        host, port = url.split("//")[1].split(":")
        self.target = (host, int(port))
        self.losses = losses
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.target)
            with client, server:
                while self.passed(client, server):
                    pass

    def passed(self, client, server):
        request = client.recv(1 << 16)
        if not request:
            return False
        head, _, body = request.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += client.recv(1 << 16)
        server.sendall(head + b"\r\n\r\n" + body)
        answer = server.recv(1 << 16)
        if b"/step" in head.split(b"\r\n")[0] and self.losses > 0:
            self.losses -= 1
            return False
        client.sendall(answer)
        return True


def lost_answers(url):
    """A step whose answer is lost is sent again, and is not taken twice."""
    proxy = LosesAnswers(url, 2)
    proxy.start()
    with make(proxy.url, "pendulum") as env:
        env.reset(seed=1)
        steps = [env.step([0.5])[4]["step_count"] for _ in range(3)]
        proxy.losses = 1
        env.close()
    proxy.losses = 1
    with make_vec(proxy.url, 2, "pendulum") as rows:
        rows.reset(seed=1)
        rows.step(np.zeros((2, 1), np.float32))
        transitions = rows.state()["transitions"]
    proxy.listener.close()
    return {"steps": steps, "transitions": transitions, "lost": proxy.losses}


def token(url):
    refused = code_of(lambda: make(url, "pendulum", token=""))
    with make(url, "pendulum") as env:  # The environment has REVERIE_TOKEN.
        env.reset(seed=1)
    return refused


if __name__ == "__main__":
    checks = json.loads(sys.stdin.read())["checks"]
    print("\nRESULT " + json.dumps([globals()[check](**given) for check, given in checks]))
