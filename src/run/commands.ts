// The door for the command line: the little that help and flags need, and the way to everything else. What a command does is
// loaded when it is run, so that nobody waits for networks and physics to read a page of help. Nothing imported here may be heavy.

export { coloursFor } from './colours.js';
export { DEVICES, type DeviceFlags, PRECISIONS } from './device-flags.js';
export { formatCount } from './format.js';
export { listenForInterrupt, RunInterrupted } from './interrupt.js';
export { versions } from './versions.js';

export const load = {
  drafting: () => import('./draft.js'),
  doctor: () => import('./doctor.js'),
  environmentCheck: () => import('./check-environment.js'),
  induction: () => import('./induce.js'),
  inspection: () => import('./inspect.js'),
  jobs: () => import('./jobs.js'),
  launcher: () => import('./launch.js'),
  operators: () => import('./induce-operators.js'),
  resultText: () => import('./result-text.js'),
  scenarios: () => import('./scenario.js'),
};
