// Models that nobody here wrote, from their packages' own files: Reverie loads those that MuJoCo's Python loads, and they move
// alike. Needs a Python with mujoco and gymnasium, named by REVERIE_PYTHON; other collections are tried where it has them.

import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Simulation } from '../../src/env/mujoco/simulation.js';

const python = process.env.REVERIE_PYTHON;
const script = fileURLToPath(new URL('./published-models.py', import.meta.url));

interface Model {
  readonly file: string;
  readonly error?: string;
  readonly sizes: number[];
  readonly qpos: number[];
}

/** What differs between ours and Python's; undefined if nothing. */
async function difference({ file, error, sizes, qpos }: Model, folder: string): Promise<string | undefined> {
  let simulation: Simulation;
  try {
    simulation = await Simulation.load({ file, folder });
  } catch (ours) {
    return error === undefined ? (ours as Error).message : undefined;
  }
  try {
    if (error !== undefined) return `only Python refuses it: ${error}`;
    const { nq, nv, nu, arrays } = simulation;
    for (let i = 0; i < nv; i++) arrays.qvel[i] = 0.01 * ((i % 7) - 3);
    simulation.step(2);
    const off = Math.max(0, ...qpos.map((value, i) => Math.abs(value - arrays.qpos[i])));
    return `${[nq, nv, nu]}` === `${sizes}` && off < 1e-6
      ? undefined
      : `${[nq, nv, nu]} for ${sizes}, qpos off by ${off}`;
  } finally {
    simulation.delete();
  }
}

describe.skipIf(python === undefined)('published models (skipped without REVERIE_PYTHON)', () => {
  test('load and move as in MuJoCo’s Python', { timeout: 600_000 }, async () => {
    const options = { cwd: tmpdir(), maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] as const };
    const found = JSON.parse(execFileSync(python!, [script], { ...options, stdio: [...options.stdio] }).toString());
    const packages = Object.entries(found as Record<string, { folder: string; models: Model[] }>);
    const wrong: string[] = [];
    for (const [name, { folder, models }] of packages) {
      for (const model of models) {
        const what = await difference(model, folder);
        if (what !== undefined) wrong.push(`${name} ${path.relative(folder, model.file)}: ${what}`);
      }
      const loaded = models.filter(({ error }) => error === undefined).length;
      console.info(`${name}: ${loaded} models, and ${models.length - loaded} files that MuJoCo does not load alone`);
      expect(loaded).toBeGreaterThan(0);
    }
    expect(packages.map(([name]) => name)).toContain('gymnasium');
    expect(wrong).toEqual([]);
  });
});
