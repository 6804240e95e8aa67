// The room that serves environments to trainers: one session core, a thin facade for each protocol.

export type { Servable, TaskCard } from '../run/index.js';
export type * from './core/session-contract.js';
export { fetchGlueTarget } from './glue/fetch-target.js';
export { GLUE_KINDS, type GlueKind, type GlueTarget, glueText } from './glue/glue.js';
export type { HttpLimits } from './http/http-limits.js';
export { readTokens, tokenFileSchema } from './http/token-file.js';
export type { Quota, TokenEntry } from './http/tokens.js';
export { LOG_LEVELS, type LogLevel, type LogOptions, makeLog } from './observe/log.js';
export { type RunningServer, type ServeOptions, startServer } from './server.js';
export { validateScenario, validateUrl, validationText } from './validate/validate.js';
export type { CheckResult, ValidateOptions, ValidationReport } from './validate/validate-contract.js';
