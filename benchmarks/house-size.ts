// How large the house is, and how much of it a run walks through.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadedModules } from '../test/architecture/loaded-modules.js';
import type { BenchmarkContext, BenchmarkModule, Measurement } from './benchmark.js';

/** Lines of TypeScript in `src`. */
export const size: BenchmarkModule = {
  async run({ root }: BenchmarkContext): Promise<Measurement> {
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const rooms: Record<string, number> = {};
    for (const file of files) {
      const room = file.includes('/') ? file.slice(0, file.indexOf('/')) : '.';
      rooms[room] = (rooms[room] ?? 0) + readFileSync(join(root, 'src', file), 'utf8').split('\n').length - 1;
    }
    const lines = Object.values(rooms).reduce((sum, room) => sum + room, 0);
    return { value: lines, low: lines, high: lines, n: 1, raw: { files: files.length, linesOfRooms: rooms } };
  },
};

/** Modules of ours that `reverie synth helpdesk` loads in its main thread. */
export const walk: BenchmarkModule = {
  async run({ root }: BenchmarkContext): Promise<Measurement> {
    const synth = await loadedModules(root, ['synth', 'helpdesk', '--profile', 'smoke']);
    const train = await loadedModules(root, ['train', 'cartpole-swingup', '--profile', 'smoke']);
    const modules = synth.length;
    return { value: modules, low: modules, high: modules, n: 1, raw: { synth, train } };
  },
};
