// clients/reverie_verl.py, run by verl's own dataset, agent loop worker and advantage against a real server.
// Only the language model's server is written down. pip brings torch with it: only where REVERIE_TRAINER_READERS=1.

import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../src/serve/index.js';
import { helpdeskReference } from '../serve/protocols/reference-calls.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../serve/python-client.js';
import { serveScenarios } from '../serve/running-server.js';
import { temporaryFolder } from '../temporary-folder.js';

const script = fileURLToPath(new URL('./verl-loop.py', import.meta.url));
const helpdesk = fileURLToPath(new URL('../../packs/helpdesk', import.meta.url));
/** Milliseconds; most of it goes into importing verl. */
const PLAY_TIME = 300_000;

const JUDGED = 'unlock-after-holiday';
const OPEN = 'unlock-and-new-password';

interface Try {
  readonly learnt: readonly string[];
  readonly response: string;
  readonly prompt: string;
  readonly logprobs: readonly number[];
  readonly unlearnt_logprobs: readonly number[];
  readonly score: number;
  readonly advantages: readonly number[];
  readonly info: { readonly task: string; readonly seed: number; readonly left_out: string | null };
  readonly return: number | null;
  readonly judged: number;
  readonly versions: readonly (number | null)[];
}

interface Played {
  readonly rows: readonly object[];
  readonly groups: readonly (readonly Try[])[];
}

/** Turns of a solution as a model writes them. */
function solution(task: string): string[] {
  const { calls, say } = helpdeskReference(task);
  return [...calls.map((call) => `<tool_call>\n${JSON.stringify(call)}\n</tool_call>`), say];
}

/** The service desk with a task that exact checks cannot decide alone, and users who ask nothing beside their matter. */
function deskWithOpenTask(): string {
  const folder = temporaryFolder('open-desk');
  cpSync(helpdesk, folder, { recursive: true });
  const path = join(folder, 'tasks.yaml');
  const [before, after] = readFileSync(path, 'utf8').split(`- id: ${OPEN}\n`);
  const asked = after.replace('verifier:\n', 'verifier:\n    rubric: [ The agent was polite. ]\n');
  writeFileSync(path, `${before}- id: ${OPEN}\n${asked}`);
  const scenario = join(folder, 'scenario.yaml');
  writeFileSync(scenario, readFileSync(scenario, 'utf8').replace('varied: true', 'varied: false'));
  return scenario;
}

describe.skipIf(process.env['REVERIE_TRAINER_READERS'] !== '1')(
  'the agent loop for verl',
  { timeout: PLAY_TIME },
  () => {
    let server: RunningServer;
    let verl: PythonClient | string;
    let played: Played;

    beforeAll(async () => {
      verl = await pythonClient('trainers');
      if (typeof verl === 'string') return;
      server = await serveScenarios([deskWithOpenTask()]);
      const folder = temporaryFolder('verl');
      copyFileSync('clients/reverie_verl.py', join(folder, 'reverie_verl.py'));
      const solved = solution(JUDGED);
      const gaveUp = ['Your account is unlocked. Is there anything else I can do for you?'];
      const input = {
        env: { REVERIE_URL: server.url, REVERIE_ENV: server.sessions.defaultEnv.name },
        folder,
        settings: { REVERIE_GRACE_SECONDS: '4', REVERIE_STRAGGLER: '1.5' },
        ...{ prompt_length: 40_000, response_length: 16_000, count: 2 },
        groups: [
          { task: JUDGED, scripts: [solved, gaveUp, ['<tool_call>{oops</tool_call>', ...solved], [solved[0], null]] },
          { task: OPEN, scripts: [solution(OPEN), gaveUp] },
        ],
      };
      played = (await verl.run(script, input)) as Played;
    }, INSTALL_TIME + PLAY_TIME);
    afterAll(() => server?.stop(0));
    beforeEach((context) => {
      if (typeof verl === 'string') context.skip(verl);
    });

    const triesOf = (group: number, starts: string) =>
      played.groups[group].filter(({ response }) => response.startsWith(starts));

    it('plays the task and seed of a row, and learns what the model wrote, byte for byte', () => {
      expect(played.rows).toEqual([JUDGED, OPEN].map((task, seed) => ({ name: 'reverie', task, seed })));
      const solved = played.groups[0].find(({ learnt }) => learnt.length === 5)!;
      expect(solved.learnt).toEqual(solution(JUDGED).map((said) => `${said}<|im_end|>`));
      expect(solved.prompt).toContain('restore_access');
      expect(solved.prompt).toContain('Marta Teixeira');
      expect(solved).toMatchObject({
        score: 1,
        return: 1,
        judged: 1,
        versions: [7, 7],
        info: { task: JUDGED, seed: 0 },
      });
      expect([solved.logprobs, solved.unlearnt_logprobs]).toEqual([[-0.25], [0]]);
    });

    it('tells the model of a call that cannot be read, and goes on', () => {
      const [mended] = triesOf(0, '<tool_call>{oops');
      expect(mended.response).toContain('Error: that was neither a call that can be read nor anything said.');
      expect(mended).toMatchObject({ return: 1, judged: 1 });
    });

    it('cuts the straggler of a group, and compares those that ended', () => {
      const [hung, ...others] = played.groups[0].toSorted((a, b) => a.judged - b.judged);
      expect(hung.info.left_out).toMatch(/^cut after \d+ s: far slower than the others of its group$/);
      expect(hung).toMatchObject({ learnt: [], advantages: [], return: null });
      // Two of three solved it: a mean of 2/3, a deviation of .577; with the hung one as 0 the mean would be 1/2.
      const advantages = others.map((one) => [one.return, one.advantages[0]]).toSorted();
      expect(advantages.map(([reward]) => reward)).toEqual([0, 1, 1]);
      expect(advantages[0][1]).toBeCloseTo(-1.1547, 3);
      expect(advantages[2][1]).toBeCloseTo(0.5774, 3);
    });

    it('never makes 0 of an episode that could not be judged', () => {
      const [failed, open] = played.groups[1].toSorted((a, b) => b.judged - a.judged);
      expect(open).toMatchObject({
        return: null,
        judged: 0,
        learnt: [],
        info: { left_out: 'its end could not be judged' },
      });
      expect(failed).toMatchObject({ return: 0, judged: 1, advantages: [0] });
    });
  },
);
