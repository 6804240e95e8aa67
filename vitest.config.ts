import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes long begins first, so that nothing is left over at the end, alone on one core. */
const LONG = ['/test/native/', '/test/e2e/', '/test/synth/export-episodes/'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = LONG.findIndex((folder) => moduleId.includes(folder));
      return rank < 0 ? LONG.length : rank;
    };
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 240_000,
    // ONNX Runtime and MuJoCo are native or WebAssembly modules: one process per file keeps their state apart.
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongFirst },
  },
});
