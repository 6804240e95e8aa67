// Training jobs in a folder of one small game: its scenario in a temporary folder, runs of it, and one that is stopped and goes on.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JobResult } from '../../../src/run/job.js';
import { type LaunchOptions, launch } from '../../../src/run/launch.js';
import { ATTIC, ATTIC_PROBLEM } from '../../games/attic.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

interface AtticGame {
  /** In PDDL, e.g. `(in book chest)`. */
  readonly goal: string;
  readonly walkthrough: readonly string[];
}

/** @param sections  of the scenario, beside what makes it one of this game */
export function atticScenario(name: string, { goal, walkthrough }: AtticGame, sections: object) {
  const home = temporaryFolder(name);
  mkdirSync(join(home, 'games'));
  const problem = ATTIC_PROBLEM.replace(/\(:goal .*\)/, `(:goal ${goal}))`);
  const game = { pddl_domain: ATTIC.domain, pddl_problem: problem, grammar: ATTIC.grammar, walkthrough };
  writeFileSync(join(home, 'games', 'book.tw-pddl'), JSON.stringify(game));
  const domain = { id: 'text-games', folder: 'games' };
  const scenario = join(home, 'scenario.yaml');
  const model = { kind: 'tools', backends: ['rules'] };
  writeFileSync(scenario, JSON.stringify({ family: 'tools', name: 'attic', domain, model, ...sections }));
  const quiet = () => ({ quiet: true, stream: recordingStream(), command: 'test' });
  const run = <Result extends JobResult>(job: string, out: string, more: Partial<LaunchOptions<Result>> = {}) =>
    launch<Result>(job, { scenario, out: join(home, out), ...quiet(), ...more });

  return {
    home,
    run,
    /** Stops a training once a file is there, resumes it, and holds files against those of a run that was not stopped. */
    async stopsAndGoesOn(
      out: string,
      {
        at,
        like,
        files,
        more = {},
      }: { at: string; like: string; files: readonly string[]; more?: Partial<LaunchOptions> },
    ): Promise<void> {
      const stopping = run('train', out, more);
      const poll = setInterval(() => {
        if (!existsSync(join(home, out, at))) return;
        process.emit('SIGINT');
        clearInterval(poll);
      }, 1);
      await expect(stopping).rejects.toMatchObject({ name: 'RunInterrupted' });
      clearInterval(poll);
      await launch('train', { resume: join(home, out), ...quiet() });
      for (const file of files)
        expect(readFileSync(join(home, out, file))).toEqual(readFileSync(join(home, like, file)));
    },
  };
}

export const POLICY_FILES = ['checkpoint/text-policy.json', 'checkpoint/learner.safetensors'];
