// Builds the page into dist/web, where the server finds it. Needs no network.

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  base: '/web/',
  cacheDir: here('../node_modules/.vite-web'),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here('../dist/web'),
    emptyOutDir: true,
    target: 'es2022',
    // A data: address would be refused by the page's policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
