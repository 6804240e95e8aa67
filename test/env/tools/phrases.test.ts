// How people put things: the same stream says the same, what is meant stays, and a book that cannot be spoken is refused.

import { beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { Phrases, phrasesFileSchema, problemOfPhrases } from '../../../src/env/tools/phrases.js';
import { variedUser } from '../../../src/env/tools/scripted-user.js';

const book = (parts: object) => phrasesFileSchema.parse(parts);

it('a phrase book is refused where nobody could speak it, with what is wrong', () => {
  const faults: [object, string][] = [
    [{ ways: { greeting: ['{helo}, you'] } }, 'ways.greeting: nothing is called {helo}'],
    [{ rewordings: [{ says: '(', as: ['x'] }] }, 'Invalid regular expression'],
    [{ rewordings: [{ says: '(?<id>\\d+)', as: ['{ip}'] }] }, 'nothing is called {ip}'],
    [{ asides: ['And who are you?'] }, 'asides: no reply answers "And who are you?"'],
  ];
  for (const [parts, problem] of faults) expect(problemOfPhrases(book(parts))).toContain(problem);
  expect(problemOfPhrases(book({}))).toBeUndefined();
});

describe('the phrases of the service desk', () => {
  let domain: ToolsDomain;
  let phrases: Phrases;
  beforeAll(async () => {
    domain = await makeDomain({ id: 'helpdesk' });
    phrases = Phrases.of(domain);
  });

  it('reword every end of a conversation with all that it says of records', () => {
    const ids = (text: string) => (text.match(/[A-Z]+-\w*\d\w*|\d+ EUR/g) ?? []).sort();
    for (const { id, reference } of domain.tasks.filter(({ split }) => split === 'train')) {
      const say = reference?.say;
      if (say === undefined) continue;
      const reworded = Array.from({ length: 10 }, (_, seed) => phrases.reworded(say, 'agent', Rng.fromSeed(seed))[0]);
      for (const text of reworded) expect(ids(text), `${id}: ${text}`).toEqual(ids(say));
      expect(new Set(reworded).size, id).toBeGreaterThan(2);
    }
  });

  it('give each seed a user of its own, the same one every time, who tells what the script tells', () => {
    const task = domain.tasks[0];
    const users = Array.from({ length: 50 }, (_, seed) => variedUser(domain, task, seed));
    expect(users[7]).toEqual(variedUser(domain, task, 7));
    expect(new Set(users.map(({ opening }) => opening)).size).toBeGreaterThan(40);
    for (const { script } of users) {
      const told = script.map(({ say }) => say).join(' ');
      expect(told).toContain('EMP-1042');
      expect(told).toContain('LK-41042');
      expect(script.filter(({ done }) => done).length).toBe(2);
    }
  });
});
