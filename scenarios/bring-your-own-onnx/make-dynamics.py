"""Writes dynamics/dynamics.onnx: a pendulum's next observation from its physics. Needs only `pip install onnx`."""

from pathlib import Path

import onnx
import onnx.parser

# Angular velocity changes by (15 sin + 3 torque) dt and stays within -8..8; the angle then turns by dt times that.
MODEL = """
<ir_version: 8, opset_import: ["": 17]>
pendulum (float[batch, 3] obs, float[batch, 1] action) => (float[batch, 3] next_obs)
<float[1] dt = {0.05}, float[1] gravity = {15.0}, float[1] strength = {3.0}, float low = {-8.0}, float high = {8.0},
 int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] columns = {1}>
{
  cosine = Slice(obs, zero, one, columns)
  sine = Slice(obs, one, two, columns)
  speed = Slice(obs, two, three, columns)
  pull = Mul(sine, gravity)
  push = Mul(action, strength)
  acceleration = Add(pull, push)
  change = Mul(acceleration, dt)
  faster = Add(speed, change)
  next_speed = Clip(faster, low, high)
  turn = Mul(next_speed, dt)
  turn_cosine = Cos(turn)
  turn_sine = Sin(turn)
  cc = Mul(cosine, turn_cosine)
  ss = Mul(sine, turn_sine)
  sc = Mul(sine, turn_cosine)
  cs = Mul(cosine, turn_sine)
  next_cosine = Sub(cc, ss)
  next_sine = Add(sc, cs)
  next_obs = Concat <axis = 1> (next_cosine, next_sine, next_speed)
}
"""

model = onnx.parser.parse_model(MODEL)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, Path(__file__).parent / "dynamics" / "dynamics.onnx")
