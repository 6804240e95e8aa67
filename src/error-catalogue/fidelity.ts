// Errors of judging how far a dream is from the real.

import type { ErrorEntry } from './error-entry.js';

export const FIDELITY_ERRORS = {
  FIDELITY_NUMBERS_INVALID: {
    status: 422,
    message: 'Numbers for "{statistic}" are not acceptable: {problem}',
    hint: 'Each statistic takes finite numbers, as many of one kind as of the other; docs/fidelity-metrics.md says what it takes.',
  },
  FIDELITY_NO_MODEL: {
    status: 400,
    message: 'There is no world model of "{name}" to judge.',
    hint: 'Give --model FOLDER (a run of fit or train), --url URL of a server, or a scenario whose model is an ONNX file.',
  },
} as const satisfies Record<string, ErrorEntry>;
