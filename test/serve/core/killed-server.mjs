// Answers lines of JSON, `{n, verb, args}`, from the sessions kept in a folder.

import { createInterface } from 'node:readline';

const [persist, folder, modules, ...names] = process.argv.slice(2);
const [{ loadAnyScenario }, { openServable }, { openSessions }] = await Promise.all(
  JSON.parse(modules).map((url) => import(url)),
);
const served = [];
for (const name of names)
  served.push(await openServable(await loadAnyScenario(name), { folder, real: true, log: () => {} }));
const sessions = await openSessions(served, { persist });
const verbs = {
  open: ({ env, id }) => sessions.open({ env, id, owner: 'local' }),
  reset: ({ id, ...request }) => sessions.reset(id, request, 'local'),
  step: ({ id, action, ...request }) => {
    const decoded = Array.isArray(action) ? Float32Array.from(action) : action;
    return sessions.step(id, { action: decoded, ...request }, 'local');
  },
  state: ({ id }) => sessions.state(id, 'local'),
};
console.log('ready');
createInterface({ input: process.stdin }).on('line', async (line) => {
  const { n, verb, args } = JSON.parse(line);
  const answer = await Promise.resolve(verbs[verb](args)).catch((error) => ({ error: error.code ?? error.message }));
  console.log(JSON.stringify({ n, answer }));
});
