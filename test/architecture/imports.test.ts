// The import law: who may know whom. One way, and never in a circle.

import { describe, expect, it } from 'vitest';
import { filesUnder, importsOf, roomOf, textOf } from './source-files.js';

/** What each room may import of the others, beside `core`, which every room may; nothing else. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  env: [],
  llm: [],
  nn: [],
  replay: ['env'],
  worldmodel: ['env', 'llm', 'nn', 'replay'],
  rl: ['env', 'nn', 'replay'],
  synth: ['env', 'llm', 'worldmodel', 'replay'],
  games: ['env', 'llm', 'replay', 'worldmodel', 'synth'],
  screens: ['env', 'llm', 'replay', 'worldmodel', 'synth', 'kinds', 'fidelity'],
  kinds: ['env', 'llm', 'replay', 'worldmodel', 'rl', 'synth'],
  training: ['env', 'llm', 'nn', 'replay', 'worldmodel', 'rl', 'synth', 'kinds'],
  fidelity: ['env', 'llm', 'worldmodel', 'replay', 'rl', 'synth', 'kinds', 'training'],
  run: ['env', 'llm', 'nn', 'replay', 'worldmodel', 'rl', 'synth', 'kinds', 'training', 'fidelity'],
  serve: ['env', 'worldmodel', 'synth', 'replay', 'kinds', 'fidelity', 'run'],
  cli: ['run', 'serve'],
};

/** Tables of what is loaded when it is asked for: what they name in dynamic imports makes no circle. */
const KIND_LOADS: readonly string[] = ['training', 'fidelity', 'run', 'serve'];
const KIND_OBJECT = /^src\/(run\/jobs|screens\/plugin)\.ts$/;

/** Rooms that bring what they have as a user's plugin does: the one who brings them in is the only one that names them. */
const PLUGIN_ROOMS = ['games', 'screens'];
const BROUGHT_BY = 'src/kinds/registry.ts';

/** What the files in src/ that lie in no room may import. */
const ROOT_FILES: Readonly<Record<string, readonly string[]>> = {
  'src/cli.ts': ['cli'],
  'src/index.ts': [
    'core',
    'env',
    'llm',
    'nn',
    'replay',
    'worldmodel',
    'rl',
    'synth',
    'kinds',
    'training',
    'fidelity',
    'run',
  ],
  'src/extend.ts': ['core', 'env', 'games', 'replay', 'run', 'screens', 'worldmodel'],
  'src/tools.ts': ['core', 'env', 'games', 'llm', 'replay', 'synth', 'worldmodel', 'run'],
};

const sources = filesUnder('src', '.ts');
const imports = new Map(sources.map((file) => [file, importsOf(file)]));
const isKindLoading = (from: string, to: string) =>
  KIND_OBJECT.test(from) &&
  imports.get(from)!.lazy.includes(to) &&
  [...KIND_LOADS, ...PLUGIN_ROOMS].includes(roomOf(to) ?? '');
const edges = sources.flatMap((from) =>
  imports.get(from)!.files.flatMap((to) => (isKindLoading(from, to) ? [] : [{ from, to }])),
);

describe('a room', () => {
  it('is one that the law knows', () => {
    const rooms = new Set(sources.map(roomOf).filter((room) => room !== undefined));
    expect([...rooms].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
    const loose = sources.filter((file) => roomOf(file) === undefined);
    expect(loose.filter((file) => !(file in ROOT_FILES))).toEqual([]);
  });

  it('imports only rooms that it may', () => {
    const broken = edges.filter(({ from, to }) => !isAllowed(from, to));
    expect(broken.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it('has no index: files are imported directly', () => {
    const doors = ['src/index.ts', 'src/serve/index.ts'];
    const indexes = sources.filter((file) => file.endsWith('/index.ts') && !doors.includes(file));
    expect(indexes).toEqual([]);
  });
});

describe('imports', () => {
  it('name files that exist', () => {
    const missing = sources.flatMap((from) => imports.get(from)!.files.filter((to) => !sources.includes(to)));
    expect(missing).toEqual([]);
  });

  it('never go in a circle', () => {
    expect(cycles()).toEqual([]);
  });

  it('reach ONNX Runtime from one file', () => {
    const users = sources.filter((file) => imports.get(file)!.packages.some((name) => name.startsWith('onnxruntime')));
    expect(users).toEqual(['src/nn/runtime.ts']);
  });

  it('reach the native addon from one file', () => {
    const users = sources.filter((file) => textOf(file).includes('reverie_cuda.node'));
    expect(users).toEqual(['src/nn/cuda.ts']);
  });
});

function isAllowed(from: string, to: string): boolean {
  const room = roomOf(from);
  const target = roomOf(to);
  if (target === undefined) return false;
  if (from === BROUGHT_BY && PLUGIN_ROOMS.some((name) => to === `src/${name}/plugin.ts`)) return true;
  if (room === undefined) return ROOT_FILES[from]?.includes(target);
  return room === target || target === 'core' || MAY_IMPORT[room].includes(target);
}

/** Every circle found by going through the imports depth first, each as `a -> b -> a`. */
function cycles(): string[] {
  const found: string[] = [];
  const finished = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file].join(' -> '));
    if (start >= 0 || finished.has(file)) return;
    path.push(file);
    for (const next of imports.get(file)?.files ?? []) if (!isKindLoading(file, next)) visit(next);
    path.pop();
    finished.add(file);
  };
  for (const file of sources) visit(file);
  return found;
}
