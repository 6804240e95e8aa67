// A validation as a page of Markdown that a maintainer can paste into an issue: what is wrong, why it breaks training, and how to
// see it again.

import type { CheckResult, ValidationReport } from './validate-contract.js';

/** What a failed check does to a training run, a sentence each. */
const WHY: Readonly<Record<string, string>> = {
  described: 'Clients find neither tools nor tasks.',
  openapi: 'Clients cannot tell which version of the environment they train on.',
  health: 'Launchers wait for this route before they send anyone.',
  metadata: 'Clients cannot tell which environment this is.',
  schema: 'Actions cannot be made up without the schema of actions.',
  mcp: 'Agents that speak MCP find no tools.',
  modes: 'Clients choose how to connect by the routes that are declared.',
  'observation-schema': 'Observations are read by their schema; what does not fit is lost or ends the run.',
  state: 'Episodes cannot be matched to what was recorded of them.',
  rewards: 'The learner is taught something else than what was meant, or its loss becomes NaN.',
  declarations: 'Rollouts of these tasks or tools end in errors that count as failures of the policy.',
  determinism: 'Nothing that was seen can be seen again: advantages within a group compare different episodes.',
  'seed-control': 'A group of rollouts from one seed does not begin at one state, or all seeds are one.',
  isolation: 'One rollout changes another: rewards are given for what somebody else did.',
  replay: 'Recorded episodes cannot be checked: what came before on the connection changes them.',
  'floor-gap': 'A policy that does nothing earns what it should have to learn.',
  oracle: 'The best that can be done does not earn the maximum: the policy is punished for the solution.',
  'no-leakage': 'The policy learns to read the answer instead of finding it.',
  'verifier-determinism': 'The same episode earns different rewards: the learner fits noise.',
  'judge-pinned': 'Tomorrow’s rewards are those of another model.',
  environment: 'Snapshots, forks or spaces do not hold: recorded states cannot be gone on from.',
  'seeds-under-load':
    'Alone it is deterministic, in a training run it is not: the seed does not decide what a session draws.',
  threads: 'Sessions step on what others left behind: transitions of different episodes are mixed up without an error.',
  slots: 'Every trainer that is killed costs a place for ever: after some restarts nobody gets a session any more.',
};

/** Markdown, with the command that makes it again. */
export function validationMarkdown({ target, passed, checks }: ValidationReport): string {
  const failed = checks.filter(({ status }) => status === 'failed');
  const verdict = passed
    ? 'Nothing was found that breaks training.'
    : `${failed.length} of ${checks.length} checks failed.`;
  const lines = [`# Is \`${target}\` fit to train on?`, '', verdict, ''];
  for (const check of failed) lines.push(...problemOf(check));
  lines.push('## All checks', '', '| check | | what was seen |', '| --- | --- | --- |', ...checks.map(rowOf), '');
  lines.push('Made by `reverie validate`; to see it again:', '', '```bash', `reverie validate ${target}`, '```');
  return lines.join('\n');
}

function problemOf({ name, detail }: CheckResult): string[] {
  return [`## ${name}`, '', ...(WHY[name] === undefined ? [] : [WHY[name], '']), ...quoted(detail), ''];
}

function quoted(text: string): string[] {
  return text.split('\n').map((line) => `> ${line}`);
}

function rowOf({ name, status, detail }: CheckResult): string {
  const marks = { passed: 'passed', failed: '**failed**', 'not-checked': 'not checked' } as const;
  return `| ${name} | ${marks[status]} | ${detail.replaceAll('|', '\\|').replaceAll('\n', ' ')} |`;
}
