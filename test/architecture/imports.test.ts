// The import law: who may know whom. One way, through the door, and never in a circle.

import { describe, expect, it } from 'vitest';
import { filesUnder, importsOf, roomOf, textOf } from './source-files.js';

/** What each room may import of the others; nothing else. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  env: [],
  llm: [],
  nn: [],
  replay: ['env'],
  worldmodel: ['env', 'llm', 'nn', 'replay'],
  rl: ['env', 'nn', 'replay'],
  synth: ['env', 'llm', 'worldmodel', 'replay'],
  fidelity: ['env', 'llm', 'worldmodel', 'replay'],
  run: ['env', 'llm', 'nn', 'replay', 'worldmodel', 'rl', 'synth', 'fidelity'],
  serve: ['env', 'worldmodel', 'synth', 'replay', 'run'],
  cli: ['run', 'serve'],
  'error-catalogue': [],
};

/** Files in src/ that belong to nobody, so that everybody may use them. */
const COMMON = [
  'errors',
  'rng',
  'stop-flag',
  'worker-url',
  'atomic-file',
  'canonical-json',
  'sealed-json',
  'json',
  'concurrently',
  'cost',
  'lmdb-file',
].map((name) => `src/${name}.ts`);

/** What the files in src/ that are not common may import. */
const ROOT_FILES: Readonly<Record<string, readonly string[]>> = {
  'src/cli.ts': ['cli'],
  'src/errors.ts': ['error-catalogue'],
  'src/index.ts': ['env', 'llm', 'nn', 'replay', 'worldmodel', 'rl', 'synth', 'fidelity', 'run'],
  'src/tools.ts': ['env', 'llm', 'replay', 'synth', 'worldmodel', 'run'],
  'src/rng.ts': ['src/rng-kernel.ts', 'src/rng-log.ts'],
  'src/rng-kernel.ts': ['src/rng-log.ts'],
  'src/rng-log.ts': [],
};

const sources = filesUnder('src', '.ts');
const imports = new Map(sources.map((file) => [file, importsOf(file)]));
const edges = sources.flatMap((from) => imports.get(from)!.files.map((to) => ({ from, to })));

describe('a room', () => {
  it('is one that the law knows', () => {
    const rooms = new Set(sources.map(roomOf).filter((room) => room !== undefined));
    expect([...rooms].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
    const loose = sources.filter((file) => roomOf(file) === undefined);
    expect(loose.filter((file) => !COMMON.includes(file) && !(file in ROOT_FILES))).toEqual([]);
  });

  it('imports only rooms that it may', () => {
    const broken = edges.filter(({ from, to }) => !isAllowed(from, to));
    expect(broken.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it('is entered through its index alone', () => {
    const broken = edges.filter(({ from, to }) => {
      const room = roomOf(to);
      return room !== undefined && room !== 'cli' && room !== roomOf(from) && to !== `src/${room}/index.ts`;
    });
    expect(broken.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it('does not import itself through its own index', () => {
    const broken = edges.filter(({ from, to }) => roomOf(from) !== undefined && to === `src/${roomOf(from)}/index.ts`);
    expect(broken.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });
});

describe('imports', () => {
  it('name files that exist', () => {
    const missing = edges.filter(({ to }) => !sources.includes(to));
    expect(missing.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
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
  if (room === undefined) return ROOT_FILES[from]?.includes(target ?? to) || COMMON.includes(to);
  if (target === undefined) return COMMON.includes(to);
  return room === target || MAY_IMPORT[room].includes(target);
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
    for (const next of imports.get(file)?.files ?? []) visit(next);
    path.pop();
    finished.add(file);
  };
  for (const file of sources) visit(file);
  return found;
}
