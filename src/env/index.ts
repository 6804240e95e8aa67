// What other rooms and users may know of environments.

export { type EnvSpec, environmentIds, envSpecSchema } from './env-spec.js';
export type * from './environment.js';
export { type MakeOptions, makeEnvironment } from './make-environment.js';
export type * from './policy.js';
export {
  boxSpace,
  clipToSpace,
  contains,
  describeSpace,
  discreteSpace,
  rowSize,
  unboundedSpace,
} from './space-values.js';
export type * from './spaces.js';
