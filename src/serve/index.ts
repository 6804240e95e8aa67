// The room that serves environments to trainers: one session core, and a thin translation for each protocol.

export type { Servable, TaskCard } from '../run/servable.js';
export type * from './core/session-contract.js';
export { readTokens, type TokenEntry, tokenFileSchema } from './http/access.js';
export type { ProtocolContext, ProtocolRoutes } from './http/openapi.js';
export type { HttpLimits } from './http/requests.js';
export { LOG_LEVELS, type LogLevel, type LogOptions, makeLog } from './observe/log.js';
export { type Endpoint, type RunningServer, type ServeOptions, startServer } from './server.js';
export type { ValidateOptions } from './validate/subject.js';
export {
  type CheckResult,
  type ValidationReport,
  validateScenario,
  validateUrl,
  validationText,
} from './validate/validate.js';
