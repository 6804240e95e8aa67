// Errors of judging how far a dream is from the real.

import type { ErrorEntry } from './error-entry.js';

export const FIDELITY_ERRORS = {
  FIDELITY_NUMBERS_INVALID: {
    status: 422,
    message: 'Numbers for "{statistic}" are not acceptable: {problem}',
    hint: 'Each statistic takes finite numbers, as many of one kind as of the other; docs/fidelity-metrics.md says what it takes.',
  },
  FIDELITY_TRUTH_UNFIT: {
    status: 409,
    message: '"{path}" is no truth to hold a dream against: {problem}',
    hint: 'Give real transitions of this environment (a run of collect or train), or none: then they are recorded first.',
  },
  FIDELITY_NO_MODEL: {
    status: 400,
    message: 'There is no world model of "{name}" to judge.',
    hint: 'Give --model FOLDER (a run of fit or train), --url URL of a server, or a scenario whose model is an ONNX file.',
  },
  FIDELITY_SUBJECT_UNFIT: {
    status: 409,
    message: '"{given}" cannot be judged beside this scenario: {problem}.',
    hint: 'All that is judged answers the same tools in the same tasks; other models of this scenario are named under fidelity.subjects.',
  },
  FIDELITY_REPORT_MISSING: {
    status: 404,
    message: 'There is no fidelity report at "{path}".',
    hint: 'Name a run of reverie fidelity, or its fidelity.json.',
  },
  FIDELITY_REPORT_INVALID: {
    status: 422,
    message: 'The fidelity report "{path}" cannot be used: {problem}.',
    hint: 'Make it anew with reverie fidelity; its file is not to be edited.',
  },
  FIDELITY_GATE_INVALID: {
    status: 400,
    message: 'Gate "{gate}": {problem}.',
    hint: 'Write section.metric=limit, such as one-step.state-exact=0.95 or value:k-steps.drift=0.3; docs/fidelity.md has more.',
  },
  FIDELITY_METRIC_UNKNOWN: {
    status: 400,
    message: 'Nothing that is measured of "{subject}" is called "{metric}".',
    hint: 'Did you mean "{nearest}"? The report lists all that is measured.',
  },
  FIDELITY_UNFIT: {
    status: 409,
    message: 'The fidelity report "{path}" does not say how far this dream can be trusted: {problem}.',
    hint: 'Judge exactly this model: reverie fidelity SCENARIO, with the --model that is then dreamt in; or give numbers in place of auto.',
  },
  FIDELITY_HELD_OUT_SEEN: {
    status: 409,
    message: '"{path}" is not held out: the model was made from what it holds ({overlap}).',
    hint: 'Judge by records that the model never saw: other families of tasks, other episodes; or leave --held-out away and take the result as one on training data.',
  },
} as const satisfies Record<string, ErrorEntry>;
