// The error catalogue, a file for each part of the house. Nothing here decides when to fail.

export { ACCESS_ERRORS } from './access.js';
export { ENVIRONMENT_ERRORS } from './environments.js';
export type { ErrorEntry } from './error-entry.js';
export { FIDELITY_ERRORS } from './fidelity.js';
export { JUDGEMENT_ERRORS } from './judgement.js';
export { MODEL_ERRORS } from './models.js';
export { RUN_ERRORS } from './runs.js';
export { SERVING_ERRORS } from './serving.js';
export { STORAGE_ERRORS } from './storage.js';
