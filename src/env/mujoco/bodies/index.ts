// The built-in MuJoCo bodies by environment id.

import type { BuiltInBody } from './built-in-body.js';
import { cartpoleSwingup } from './cartpole-swingup.js';
import { halfCheetah } from './half-cheetah.js';
import { hopper } from './hopper.js';
import { invertedDoublePendulum } from './inverted-double-pendulum.js';
import { invertedPendulum } from './inverted-pendulum.js';
import { reacher } from './reacher.js';
import { walker2d } from './walker2d.js';

export const builtInBodies: Readonly<Record<string, BuiltInBody>> = {
  'inverted-pendulum': invertedPendulum,
  'inverted-double-pendulum': invertedDoublePendulum,
  'cartpole-swingup': cartpoleSwingup,
  reacher,
  hopper,
  'half-cheetah': halfCheetah,
  walker2d,
};
