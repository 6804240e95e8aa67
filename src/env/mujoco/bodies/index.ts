// The built-in MuJoCo bodies by environment id.

import type { BuiltInBody } from './built-in-body.js';
import { cartpoleSwingup } from './cartpole-swingup.js';
import { invertedPendulum } from './inverted-pendulum.js';

export const builtInBodies: Readonly<Record<string, BuiltInBody>> = {
  'inverted-pendulum': invertedPendulum,
  'cartpole-swingup': cartpoleSwingup,
};
