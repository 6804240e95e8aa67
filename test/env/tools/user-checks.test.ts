// Planted faults of simulated users, and right users beside agents that are at fault: benchmarks/trust/users.yaml, case by case.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Message } from '../../../src/env/tools/message.js';
import type { UserQuery } from '../../../src/env/tools/tools-family.js';
import { userFault } from '../../../src/env/tools/user-checks.js';

interface Planted {
  readonly id: string;
  readonly fault: string;
  readonly goal: string;
  readonly opening: string;
  readonly talk: readonly string[];
  readonly done?: boolean;
}

const file = fileURLToPath(new URL('../../../benchmarks/trust/users.yaml', import.meta.url));
const cases = parse(readFileSync(file, 'utf8')) as Planted[];

function foundIn({ goal, opening, talk, done = false }: Planted, isHard = false): string | undefined {
  const roles = ['assistant', 'user'] as const;
  const messages = talk.slice(0, -1).map((content, i): Message => ({ role: roles[i % 2], content }));
  const task = { user: { goal, opening } };
  const query = { task, messages: [{ role: 'user', content: opening }, ...messages] } as unknown as UserQuery;
  return userFault(query, { content: talk.at(-1)!, done }, isHard);
}

describe('a user', () => {
  test.each(cases)('$id: $fault', (planted) => {
    expect(foundIn(planted)?.split(':')[0] ?? 'none').toBe(planted.fault);
  });

  test('that is difficult need not answer, and makes no other fault', () => {
    const faults = cases.map((planted) => foundIn(planted, true)?.split(':')[0] ?? 'none');
    const expected = cases.map(({ fault }) => (fault === 'answers nothing' ? 'none' : fault));
    expect(faults).toEqual(expected);
  });
});
