import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 240_000,
    // ONNX Runtime and MuJoCo are native or WebAssembly modules: one process per file keeps their state apart.
    pool: 'forks',
    maxWorkers: 2,
  },
});
