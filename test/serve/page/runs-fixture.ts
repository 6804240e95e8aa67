// A folder of real runs, made once for one test file: episodes of the service desk and a policy trained on the pendulum.

import { join } from 'node:path';
import { answerHere, set } from '../../e2e/reverie.js';
import { temporaryFolder } from '../../temporary-folder.js';

/** Answers the folder. */
export async function makeRuns(): Promise<string> {
  const root = temporaryFolder('page-runs');
  const erring = set('synth.episodes=10', 'agent={kind: reference, error: 0.3}');
  await answerHere('synth', 'helpdesk', ...erring, '--out', join(root, 'desk'), '--quiet');
  const brief = ['--profile', 'smoke', '--workers', '0', ...set('train.mode=real')];
  await answerHere('train', 'pendulum', ...brief, '--out', join(root, 'swing'), '--quiet');
  return root;
}
