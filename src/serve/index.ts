// The room that serves environments to trainers: one session core, a thin facade for each protocol.

export type * from './core/session-contract.js';
export { type RunningServer, type ServeOptions, startServer } from './server.js';
