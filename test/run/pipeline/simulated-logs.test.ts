// Logs whose answers a simulator gave are remembered as that, and do not count as real records: a job that shows them to its world ends well.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { launch } from '../../../src/run/launch.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const home = temporaryFolder('simulated');

it('a job with simulated logs ends with its datasets and its report', async () => {
  const steps = [
    { step_id: 1, source: 'user', message: 'Reset it\u2028please.' },
    { step_id: 2, source: 'agent', message: 'It is done.' },
  ];
  const extra = { source: 'synthetic', row: 0, responder_version: 'router:1', task: 'any', reward: 1 };
  const log = join(home, 'log.jsonl');
  writeFileSync(log, JSON.stringify({ schema_version: 'ATIF-v1.7', trajectory_id: 'a', steps, extra }));
  const set = ['synth.episodes=4', `experience.logs=[${log}]`, 'synth.earlyExperience.counterfactuals=1'];
  const out = join(home, 'run');
  const stream = recordingStream();
  const result = await launch('synth', { scenario: 'helpdesk', set, out, quiet: true, stream, command: 'test' });
  expect(result).toMatchObject({ episodes: 4, accepted: 4, report: expect.anything() });
}, 60_000);
