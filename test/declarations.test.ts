// The package's declarations in a program of one's own that leaves nothing unchecked, those of libraries included.

import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from './temporary-folder.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COMPILER = join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc');

const PROGRAM = `
import { Dream, fitEnsemble, makeEnvironment, ReplayBuffer, Rng } from 'reverie';
import { startServer } from 'reverie/serve';
import { makeDomain, makeLanguageModel } from 'reverie/tools';

const env = await makeEnvironment({ id: 'pendulum' });
const seen = await ReplayBuffer.load('runs/seen/data');
const { model } = await fitEnsemble(seen.rows(), env, { hidden: [64, 64] }, { rng: Rng.fromSeed(1), known: env.known });
const dream = new Dream({ model, starts: seen.columns().obs, maxEpisodeSteps: 200 });
const { observation } = await dream.reset({ seed: 7 });
const domain = await makeDomain({ id: 'helpdesk' });
const reply = (await makeLanguageModel({ provider: 'openai-compatible', url: 'http://localhost/v1', model: 'NAME' })).stats();
export const told: readonly unknown[] = [observation.length, domain.tasks.length, reply.requests, startServer];
`;

describe('the package in a strict program', () => {
  const folder = temporaryFolder('consumer');
  beforeAll(() => {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules', 'reverie'), 'dir');
  });

  it('compiles, with the declarations of all libraries checked', () => {
    const compilerOptions = {
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      module: 'NodeNext',
      target: 'ES2022',
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules', '@types')],
    };
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
    const { status, stdout } = spawnSync(process.execPath, [COMPILER, '-p', folder], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });
});
