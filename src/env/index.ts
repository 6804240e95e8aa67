export type * from './environment.js';
export type * from './policy.js';
export type * from './spaces.js';
