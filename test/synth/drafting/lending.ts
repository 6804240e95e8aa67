// A lending library as a language model might draft it: whole files (lending/), of which tests spoil one or another.

import { readFileSync } from 'node:fs';
import type { DraftFiles } from '../../../src/synth/drafting/draft-domain.js';

const NAMES = [
  ...([
    'policy.md',
    'tools.yaml',
    'state.schema.json',
    'state.json',
    'tasks.yaml',
    'must-fail.yaml',
    'rules.js',
  ] as const),
];
const fileOf = (name: string) => readFileSync(new URL(`lending/${name}`, import.meta.url), 'utf8');

/** YAML that is JSON, too. */
export const LENDING = Object.fromEntries(NAMES.map((name) => [name, fileOf(name)])) as Record<
  (typeof NAMES)[number],
  string
>;

/** Rules that lend whatever is asked for. */
export const CARELESS = LENDING['rules.js'].replace(/.*is lent.*\n/, '');

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
