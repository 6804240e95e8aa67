// Registries: one door for our things and a user's, with names that cannot be confused.

import { describe, expect, it } from 'vitest';
import { type Entry, Registry } from '../../src/core/registry.js';

function entry(name: string): Entry<string> {
  return { name, summary: 'A thing.', make: async () => name };
}

function registry(...names: string[]) {
  const made = new Registry<Entry<string>>('learner');
  for (const name of names) made.register(entry(name));
  return made;
}

describe('a registry', () => {
  it('answers what was registered, in that order, and makes it only when asked', async () => {
    const learners = registry('sac', 'ppo');
    expect(learners.names()).toEqual(['sac', 'ppo']);
    expect(await learners.get('ppo').make()).toBe('ppo');
    expect(learners.has('bc')).toBe(false);
  });

  it('names the nearest where a name is unknown', () => {
    expect(() => registry('sac', 'ppo').get('pppo')).toThrow('There is no learner called "pppo".');
    try {
      registry('sac', 'ppo').get('pppo');
    } catch (error) {
      expect((error as { hint: string }).hint).toBe('Known: sac, ppo. Did you mean "ppo"?');
    }
  });

  it('takes the same object twice, and no other of its name', () => {
    const learners = registry();
    const sac = entry('sac');
    learners.register(sac);
    learners.register(sac);
    expect(learners.list()).toEqual([sac]);
    expect(() => learners.register(entry('sac'))).toThrow('The learner "sac" cannot be registered: the name is taken.');
    expect(() => learners.register(entry('My Learner'))).toThrow('lower-case letters, digits and dashes');
  });
});
