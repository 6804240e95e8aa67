// Of the compared jobs, what is the same on every machine and is held by test/e2e/golden.json: the data of structured
// worlds. What is written for people (cards, reports, instructions) may be worded anew and is compared by the script alone.

import { fileURLToPath } from 'node:url';

export const GOLDEN_FILE = fileURLToPath(new URL('../../test/e2e/golden.json', import.meta.url));

export const GOLDEN_JOBS = [
  'early-experience',
  'export-helpdesk',
  'synth-cellar',
  'export-cellar',
  'fidelity-helpdesk',
  'audit-helpdesk',
  'serve-structured',
];

const FOR_PEOPLE = /\(card\)$|\.md$|: opening$/;

/** Part → SHA-256 of its content. */
export async function goldenParts(side, name) {
  const { parts } = await side.outcome(name);
  return Object.fromEntries(Object.entries(parts).filter(([part]) => !FOR_PEOPLE.test(part)));
}
