"""Gymnasium environments for Reverie: several of one kind in one process, driven by binary frames on stdin and stdout.

Reverie starts this file itself (src/env/gymnasium/python-process.ts), with the environment as JSON in the first argument. The
first frame out tells spaces and clock, or why there are none; after that each frame in is a batch of requests, and is answered by
one frame with as many answers, in the same order. A frame is its length as uint32, then its bytes; all numbers are little-endian.

    request: slot uint32, verb uint8, length of the body uint32, body
        1 reset   seed float64
        2 step    action float32[n]
        3 replay  seed float64, count uint32, count x (steps taken before uint32, seed float64), actions float32[steps x n]
        4 close   nothing
    answer:  0 uint8, flags uint8 (1 terminated, 2 truncated), reward float64, steps taken uint32, length of info uint32,
             observation float32[m] or uint8[m], info as JSON
          or 1 uint8, length uint32, JSON {"type", "message"}; or 2 uint8, 0 uint32 of a slot that was closed

Needs the standard library, gymnasium and numpy.
"""

import importlib
import json
import os
import signal
import struct
import sys

REQUEST = struct.Struct("<IBI")
ANSWER = struct.Struct("<BBdII")
FAILURE = struct.Struct("<BI")
LENGTH = struct.Struct("<I")
SEED = struct.Struct("<d")
RESEED = struct.Struct("<Id")

RESET, STEP, REPLAY, CLOSE = 1, 2, 3, 4

# Combinations of several discrete choices that are offered as one choice.
MOST_CHOICES = 65_536
# Larger bounds bound nothing in float32.
FLOAT32_MAX = 3.4028234e38


class Refused(Exception):
    """Why there is no such environment here: `fault` is missing, import, unknown or space."""

    def __init__(self, fault, **values):
        super().__init__(fault)
        self.told = {"fault": fault, "values": values}


class Spaces:
    """An environment's spaces as rows of numbers, and the way there and back."""

    def __init__(self, env):
        import numpy
        from gymnasium import spaces

        self.np, self.spaces = numpy, spaces
        self.observation, self.action = (getattr(env, name, None) for name in ("observation_space", "action_space"))
        self.shown = self._shown_space()
        self.acted, self.to_action = self._acted_space()
        for which, space in (("observation", self.shown), ("action", self.acted)):
            if 0 in space.shape:
                raise Refused("space", which=which, space=str(space))
        is_bytes = isinstance(self.observation, spaces.Box) and self.observation.dtype == numpy.uint8
        self.dtype = numpy.dtype("uint8" if is_bytes else "<f4")

    def row(self, observation):
        """The bytes of an observation's row. What is not of the space raises: its row would be cut where another begins."""
        self._require_shown("the observation", self.observation, observation)
        if self.shown is not self.observation:
            observation = self.spaces.flatten(self.observation, observation)
        return self.np.asarray(observation, dtype=self.dtype).tobytes()

    def _require_shown(self, what, space, shown):
        kinds, np = self.spaces, self.np
        if isinstance(space, (kinds.Dict, kinds.Tuple)):
            parts = space.spaces.items() if isinstance(space, kinds.Dict) else enumerate(space.spaces)
            if len(shown) != len(space.spaces):
                raise ValueError(f"parts of {what}: {len(shown)}, where its space {space} has {len(space.spaces)}")
            for key, one in parts:
                self._require_shown(f"{what}[{key!r}]", one, shown[key])
            return
        # Bounds of a box are often passed by a little; a byte or a choice that is out of them is read as another one.
        row = np.asarray(shown)
        fits = row.shape == space.shape if isinstance(space, kinds.Box) else space.contains(shown)
        if fits and self.dtype == np.uint8 and row.dtype != np.uint8:
            fits = (row == row.astype(np.uint8)).all()
        if not fits or row.dtype.kind not in "biuf":
            told = f"of shape {row.shape} and type {row.dtype}"
            raise ValueError(f"{what} is {str(row)[:80]} {told}, where its space is {space}")

    def _shown_space(self):
        """The space itself where a row of numbers is of it, or else the flat one (`gymnasium.spaces.flatten_space`)."""
        space, kinds = self.observation, self.spaces
        if isinstance(space, (kinds.Box, kinds.Discrete)):
            return space
        self._require("observation", space, (kinds.Box, kinds.Discrete, kinds.MultiDiscrete, kinds.MultiBinary))
        return kinds.flatten_space(space)

    def _acted_space(self):
        space, kinds, np = self.action, self.spaces, self.np
        if isinstance(space, kinds.Discrete):
            return space, lambda row: space.dtype.type(row[0])
        if isinstance(space, (kinds.MultiDiscrete, kinds.MultiBinary)):
            sizes, starts = self._choices(space)
            if np.prod(sizes, dtype=float) > MOST_CHOICES:
                raise Refused("space", which="action", space=str(space))
            combine = lambda row: (starts + np.unravel_index(int(row[0]), sizes)).astype(space.dtype)
            return kinds.Discrete(int(np.prod(sizes))), lambda row: combine(row).reshape(space.shape)
        self._require("action", space, (kinds.Box,))
        shown = space if isinstance(space, kinds.Box) else kinds.flatten_space(space)
        return shown, lambda row: self._boxes(space, iter(row))

    def _choices(self, space):
        if isinstance(space, self.spaces.MultiBinary):
            size = int(self.np.prod(space.shape))
            return (2,) * size, self.np.zeros(size, int)
        return tuple(int(n) for n in space.nvec.ravel()), space.start.ravel()

    def _boxes(self, space, numbers):
        """Each box takes its numbers in the order of `flatten`, in its own type: bounds of double precision lie next to
        those of a float32."""
        if isinstance(space, self.spaces.Dict):
            return {key: self._boxes(one, numbers) for key, one in space.spaces.items()}
        if isinstance(space, self.spaces.Tuple):
            return tuple(self._boxes(one, numbers) for one in space.spaces)
        np = self.np
        action = np.array([next(numbers) for _ in range(int(np.prod(space.shape)))]).reshape(space.shape)
        if np.issubdtype(space.dtype, np.integer):
            action = np.rint(action)
        return np.clip(action.astype(space.dtype), space.low, space.high)

    def _require(self, which, space, leaves):
        kinds = self.spaces
        if isinstance(space, (kinds.Dict, kinds.Tuple)) and len(space.spaces) > 0:
            for one in space.spaces.values() if isinstance(space, kinds.Dict) else space.spaces:
                self._require(which, one, leaves)
        elif not isinstance(space, leaves):
            raise Refused("space", which=which, space=str(space))

    def tell(self, space):
        if isinstance(space, self.spaces.Discrete):
            return {"type": "discrete", "n": int(space.n), "start": int(space.start)}
        low, high = ([self._bound(one) for one in side.ravel()] for side in (space.low, space.high))
        return {"type": "box", "shape": list(space.shape), "low": low, "high": high}

    def _bound(self, value):
        value = float(value)
        return value if abs(value) < FLOAT32_MAX else None


class Environments:
    """The environments of this process, by slot; each is made when it is first reset."""

    def __init__(self, asked):
        self.asked = asked
        self.envs = {}
        first = self._made()
        self.spaces = Spaces(first)
        self.action_bytes = 4 * (1 if not self.spaces.acted.shape else int(self.spaces.np.prod(self.spaces.acted.shape)))
        self.spare = first

    def tell(self):
        import gymnasium

        spec = self.spare.spec
        seconds = getattr(self.spare.unwrapped, "dt", None)
        return {
            "observation": self.spaces.tell(self.spaces.shown),
            "action": self.spaces.tell(self.spaces.acted),
            "dtype": "uint8" if self.spaces.dtype == self.spaces.np.uint8 else "float32",
            "maxEpisodeSteps": spec.max_episode_steps if spec is not None else None,
            "stepSeconds": float(seconds) if isinstance(seconds, (int, float)) else None,
            "gymnasium": gymnasium.__version__,
        }

    def answer(self, slot, verb, body):
        """Of one request; whatever the environment raises is told, and ends that episode alone."""
        try:
            return self._answer(slot, verb, body)
        except Exception as error:
            told = json.dumps({"type": type(error).__name__, "message": str(error)}).encode()
            return FAILURE.pack(1, len(told)) + told

    def _answer(self, slot, verb, body):
        if verb == STEP:
            return self._moved(*self._stepped(self.envs[slot], body))
        if verb == RESET:
            observation, info = self._env(slot).reset(seed=int(SEED.unpack(body)[0]))
            return self._moved(observation, 0.0, False, False, info)
        if verb == REPLAY:
            return self._replayed(self._env(slot), body)
        env = self.envs.pop(slot, None)
        if env is not None:
            env.close()
        return FAILURE.pack(2, 0)

    def _replayed(self, env, body):
        """An episode once more, as far as it had come."""
        (seed,), (count,) = SEED.unpack_from(body), LENGTH.unpack_from(body, SEED.size)
        at = SEED.size + LENGTH.size
        reseeds = [RESEED.unpack_from(body, at + i * RESEED.size) for i in range(count)]
        at += count * RESEED.size
        observation, info = env.reset(seed=int(seed))
        moved, steps = (observation, 0.0, False, False, info), 0
        self._reseed(env, reseeds, steps)
        while at < len(body) and not (moved[2] or moved[3]):
            moved = self._stepped(env, body[at : at + self.action_bytes])
            steps, at = steps + 1, at + self.action_bytes
            self._reseed(env, reseeds, steps)
        return self._moved(*moved, steps=steps)

    def _reseed(self, env, reseeds, steps):
        from gymnasium.utils import seeding

        for before, seed in reseeds:
            if before == steps:
                env.unwrapped.np_random = seeding.np_random(int(seed))[0]

    def _stepped(self, env, body):
        return env.step(self.spaces.to_action(self.spaces.np.frombuffer(body, "<f4")))

    def _moved(self, observation, reward, terminated, truncated, info, steps=1):
        told = json.dumps(plain(info)).encode() if info else b""
        flags = int(bool(terminated)) | int(bool(truncated)) << 1
        return ANSWER.pack(0, flags, float(reward), steps, len(told)) + self.spaces.row(observation) + told

    def _env(self, slot):
        if slot not in self.envs:
            self.envs[slot], self.spare = self.spare or self._made(), None
        return self.envs[slot]

    def _made(self):
        import gymnasium

        words = dict(self.asked["kwargs"])
        if "maxEpisodeSteps" in self.asked:
            # -1 is Gymnasium's word for no clock.
            steps = self.asked["maxEpisodeSteps"]
            words["max_episode_steps"] = -1 if steps is None else steps
        try:
            return gymnasium.make(self.asked["id"], disable_env_checker=True, **words)
        except Exception as error:
            raise Refused("unknown", problem=f"{type(error).__name__}: {error}") from error


def plain(info):
    """What of an info is numbers, words and truth values: all that can be read elsewhere."""
    told = {}
    for key, value in info.items():
        value = value.item() if getattr(value, "shape", None) == () else value
        if isinstance(value, float) and value - value != 0:
            continue
        if isinstance(value, (bool, int, float, str)):
            told[str(key)] = value
    return told


def opened(asked):
    try:
        import gymnasium  # noqa: F401
    except ImportError as error:
        raise Refused("missing", problem=str(error)) from error
    if asked.get("import") is not None:
        try:
            module = importlib.import_module(asked["import"])
        except Exception as error:
            raise Refused("import", module=asked["import"], problem=f"{type(error).__name__}: {error}") from error
        if callable(getattr(module, "register_envs", None)):
            gymnasium.register_envs(module)
    return Environments(asked)


def read(source, count):
    data = source.read(count)
    if len(data) < count:
        sys.exit(0)
    return data


def write(sink, data):
    sink.write(LENGTH.pack(len(data)) + data)
    sink.flush()


def main():
    # Reverie ends a run in its own time; what an environment prints must not come between frames.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path.insert(0, os.getcwd())
    try:
        environments = opened(json.loads(sys.argv[1]))
    except Refused as refused:
        write(sink, json.dumps({"error": refused.told}).encode())
        return
    write(sink, json.dumps({"spaces": environments.tell()}).encode())
    while True:
        frame = read(source, LENGTH.unpack(read(source, LENGTH.size))[0])
        answers, at = [], 0
        while at < len(frame):
            slot, verb, length = REQUEST.unpack_from(frame, at)
            at += REQUEST.size + length
            answers.append(environments.answer(slot, verb, frame[at - length : at]))
        write(sink, b"".join(answers))


if __name__ == "__main__":
    main()
