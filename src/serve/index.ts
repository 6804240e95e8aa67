// The room that serves environments to trainers: one session core, a thin facade for each protocol.

export type { Servable, TaskCard } from '../run/servable.js';
export type * from './core/session-contract.js';
export { fetchGlueTarget, GLUE_KINDS, type GlueKind, type GlueTarget, glueText } from './glue/glue.js';
export { readTokens, type TokenEntry, tokenFileSchema } from './http/access.js';
export type { Facade, FacadeContext } from './http/openapi.js';
export type { HttpLimits } from './http/requests.js';
export { LOG_LEVELS, type LogLevel, type LogOptions, makeLog } from './observe/log.js';
export { type Endpoint, type Protocol, protocols } from './protocols/registry.js';
export { type RunningServer, type ServeOptions, startServer } from './server.js';
export type { ValidateOptions } from './validate/players.js';
export {
  type CheckResult,
  type ValidationReport,
  validateScenario,
  validateUrl,
  validationText,
} from './validate/validate.js';
