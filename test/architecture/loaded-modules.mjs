// Preloaded into a process (`node --import`): appends the address of each compiled module of ours that is loaded to the file that
// REVERIE_LOADED names.

import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

export async function load(url, context, next) {
  const [, module] = /^file:.*\/dist\/(.*\.js)$/.exec(url) ?? [];
  if (module !== undefined && !url.includes('node_modules')) appendFileSync(process.env.REVERIE_LOADED, `${module}\n`);
  return next(url, context);
}
