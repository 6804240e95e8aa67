// A lending library as a language model might draft it: whole files, of which tests spoil one or another.

import { readFileSync } from 'node:fs';
import type { DraftFiles } from '../../../src/synth/drafting/draft-domain.js';

const read = (name: string) => readFileSync(new URL(`lending/${name}`, import.meta.url), 'utf8');

export const LENDING = {
  'policy.md': read('policy.md'),
  'tools.yaml': read('tools.yaml'),
  'state.schema.json': read('state.schema.json'),
  'state.json': read('state.json'),
  'tasks.yaml': read('tasks.yaml'),
  'must-fail.yaml': read('must-fail.yaml'),
  'rules.yaml': read('rules.yaml'),
} as const satisfies DraftFiles;
/** Lends whatever is asked for. */
export const CARELESS = LENDING['rules.yaml'].replace(/^.*is lent" }\n/m, '');

export const WORLD = ['policy.md', 'tools.yaml', 'state.schema.json', 'state.json'] as const;

/** A reply of the model. */
export function reply(files: DraftFiles) {
  return {
    reasoning: 'As it is wanted.',
    files: Object.entries(files).map(([name, written]) => ({ name, text: written })),
  };
}

export function part(...names: readonly (keyof typeof LENDING)[]): DraftFiles {
  return Object.fromEntries(names.map((name) => [name, LENDING[name]]));
}
