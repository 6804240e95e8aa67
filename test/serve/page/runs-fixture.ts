// A folder of real runs, made once for one test file: episodes of the service desk and a policy trained on the pendulum.

import { join } from 'node:path';
import { runCommandLine } from '../../../src/cli/command-line.js';
import { recordingStream } from '../../run/streams.js';
import { temporaryFolder } from '../../temporary-folder.js';

/** Answers the folder. */
export async function makeRuns(): Promise<string> {
  const root = temporaryFolder('page-runs');
  await made([
    'synth',
    'helpdesk',
    '--set',
    'synth.episodes=10',
    '--set',
    'agent={kind: reference, error: 0.3}',
    '--out',
    join(root, 'desk'),
  ]);
  await made([
    'train',
    'pendulum',
    '--profile',
    'smoke',
    '--workers',
    '0',
    '--set',
    'train.mode=real',
    '--out',
    join(root, 'swing'),
  ]);
  return root;
}

async function made(args: readonly string[]): Promise<void> {
  const terminal = { stdout: recordingStream(), stderr: recordingStream(), env: {} };
  const exitCode = await runCommandLine([...args, '--quiet', '--json'], terminal);
  if (exitCode !== 0) throw new Error(terminal.stderr.text());
}
