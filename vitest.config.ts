import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that need a process of their own: what they look at belongs to a process as a whole. Others share one and what it has loaded. */
const APART = [
  'test/serve/http/tokens.test.ts',
  'test/examples/examples.test.ts',
  'test/run/plugins.test.ts',
  'test/packs/alfworld.test.ts',
  'test/packs/packs.test.ts',
];

/** What takes long begins first, so that nothing is left over at the end, alone on one core. */
const LONG = [
  '/test/clients/trl',
  '/test/clients/verl',
  '/test/native/',
  '/test/screens/',
  '/test/e2e/',
  '/test/llm/contract-real',
  '/test/serve/hosts/',
  '/test/serve/validate/',
  '/test/serve/page',
  '/test/packs/',
  '/test/run/pipeline/',
  '/test/synth/',
  '/test/fidelity/',
  '/test/nn/decoder/',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = LONG.findIndex((folder) => moduleId.includes(folder));
      return rank < 0 ? LONG.length : rank;
    };
    // Projects one after the other: a process is used again only by the next file of its project.
    const projectOf = ({ project }: TestSpecification) => (project.name === 'apart' ? 0 : 1);
    return (await super.sort(files)).toSorted((a, b) => projectOf(a) - projectOf(b) || rankOf(a) - rankOf(b));
  }
}

export default defineConfig({
  // Plugins of ours import the package by its name: in tests, the source.
  resolve: {
    alias: [
      { find: /^reverie$/, replacement: fileURLToPath(new URL('./src/index.ts', import.meta.url)) },
      { find: /^reverie\/extend$/, replacement: fileURLToPath(new URL('./src/extend.ts', import.meta.url)) },
      { find: /^reverie\/tools$/, replacement: fileURLToPath(new URL('./src/tools.ts', import.meta.url)) },
    ],
  },
  test: {
    testTimeout: 120_000,
    hookTimeout: 240_000,
    // ONNX Runtime is native and must end with its process, which threads of one process do not let it.
    pool: 'forks',
    // One more than the cores that continuous integration has: many tests wait, for a process, a time or a browser.
    maxWorkers: 3,
    setupFiles: ['test/environment-variables.ts'],
    sequence: { sequencer: LongFirst },
    projects: [
      { extends: true, test: { name: 'shared', isolate: false, include: ['test/**/*.test.ts'], exclude: APART } },
      { extends: true, test: { name: 'apart', include: APART } },
    ],
  },
});
