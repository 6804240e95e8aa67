// Whether an episode goes the same way twice where its protocol has no seeds: one that draws by itself is not at fault there, and says
// nothing by going otherwise beside others.

import { difference, playAlone, randomActions } from './policies.js';
import { startOf } from './starts.js';
import { NotChecked, type Server, type Subject } from './validate-contract.js';

/** Times that an episode has to go the same way. */
const TIMES = 3;

const found = new WeakMap<Server, Promise<string | undefined>>();

/** Servers with seeds always have to be. @throws NotChecked */
export async function requireRepeatable(subject: Subject): Promise<void> {
  const { server } = subject;
  if (server.lacks.seeds === undefined) return;
  const problem = await (found.get(server) ?? remembered(subject));
  if (problem !== undefined) {
    throw new NotChecked(
      `${server.lacks.seeds}, and this one draws by itself: of one task and the same actions, ${problem}`,
    );
  }
}

function remembered(subject: Subject): Promise<string | undefined> {
  const trying = tried(subject);
  found.set(subject.server, trying);
  return trying;
}

async function tried(subject: Subject): Promise<string | undefined> {
  const actions = randomActions(subject, 'repeatable');
  const first = await playAlone(subject.server, startOf(subject), actions);
  for (let i = 1; i < TIMES; i++) {
    const problem = difference(first, await playAlone(subject.server, startOf(subject), actions));
    if (problem !== undefined) return problem;
  }
  return undefined;
}
