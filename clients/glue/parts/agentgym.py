def ask(path, body):
    """POSTs JSON. Errors come as `{"error": ...}`."""
    headers = {"content-type": "application/json"}
    if "REVERIE_TOKEN" in os.environ:
        headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as reply:
        answer = json.loads(reply.read())
    if isinstance(answer, dict) and "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


def reward_of(turn):
    """The reward of a step. No reward is not the reward 0: raises where nobody could judge."""
    if turn["reward"] is None:
        raise RuntimeError("An end that could not be judged has no reward. Train on tasks that exact checks decide.")
    return float(turn["reward"])
