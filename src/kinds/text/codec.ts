// Lines of text between memory and JSON: as they are.

import { reverieError } from '../../core/errors.js';
import type { ValueCodec } from '../../core/kind.js';

export const textCodec: ValueCodec = {
  encodeObservation: (observation) => observation,
  decodeAction: (action) => {
    if (typeof action === 'string') return action;
    throw reverieError('REQUEST_INVALID', { problem: 'action: expected a string' });
  },
};
