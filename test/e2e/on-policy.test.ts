// A PPO run that was killed within its rounds ends with the bytes of one that was not.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileHashes, reverie, startReverie } from './reverie.js';

/** Events in the journal at which the run is killed: before its first checkpoint, and later on. */
const KILLS = [1, 30];

describe('a PPO run', () => {
  let folder: string;
  const set = ['train.mode=real', 'train.realSteps=2000', 'train.checkpointSeconds=0', 'train.stopAtThreshold=false'];
  const run = ['train', 'cartpole', '--profile', 'smoke', ...set.flatMap((path) => ['--set', path]), '--quiet'];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'reverie-on-policy-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Kills the run as soon as it has told `events` events; answers whether it was still running. */
  async function killedAt(events: number, args: readonly string[]): Promise<boolean> {
    const { child, outcome } = startReverie(args, folder);
    const watch = setInterval(() => told(join(folder, 'killed')) >= events && child.kill('SIGKILL'), 2);
    const { signal, stderr } = await outcome;
    clearInterval(watch);
    expect(stderr).toBe('');
    return signal === 'SIGKILL';
  }

  it('ends with the same bytes after being killed and resumed, with other workers too', async () => {
    expect((await reverie([...run, '--workers', '0', '--out', 'reference'], folder)).code).toBe(0);
    const kills: boolean[] = [];
    for (const events of KILLS) {
      const begun = existsSync(join(folder, 'killed', 'run.json'));
      const args = begun ? ['train', '--resume', 'killed', '--quiet'] : [...run, '--out', 'killed'];
      kills.push(await killedAt(events, [...args, '--workers', '1']));
    }
    expect(kills).toEqual(KILLS.map(() => true));
    expect((await reverie(['train', '--resume', 'killed', '--workers', '0', '--quiet'], folder)).code).toBe(0);
    expect(fileHashes(join(folder, 'killed', 'checkpoint'))).toEqual(
      fileHashes(join(folder, 'reference', 'checkpoint')),
    );
  });
});

/** Events in the journal of a run. */
function told(run: string): number {
  const journal = join(run, 'metrics.jsonl');
  return existsSync(journal) ? readFileSync(journal, 'utf8').split('\n').length - 1 : 0;
}
