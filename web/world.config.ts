// Builds the page of a world into dist/world: one file of markup, script and style, into which `reverie page` writes a world, and beside it
// ONNX Runtime for pages that need it. Needs no network.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const engine = here('../src/');
const require = createRequire(import.meta.url);

/** Packages of the engine that do their work on the page too. Whatever else it names belongs to what no page does. */
const PACKAGES =
  /^(@noble\/|ajv|fast-deep-equal|fast-uri|immer|json-schema-traverse|long|lru-cache|onnxruntime|pathe|preact|protobufjs|rfc6902|zod)/;

/** Modules that are named and never reached: their exports are undefined. */
const absent: Plugin = {
  name: 'absent',
  enforce: 'pre',
  resolveId(name, importer) {
    const isOurs = importer === undefined || name.startsWith('.') || name.startsWith('/') || PACKAGES.test(name);
    return isOurs || name.startsWith('\0') ? undefined : '\0absent';
  },
  load: (id) => (id === '\0absent' ? 'export default undefined;' : undefined),
};

/** A browser that opens a file from disk loads no second one: all goes into the page. */
const oneFile: Plugin = {
  name: 'one-file',
  enforce: 'post',
  generateBundle: {
    // After vite has put its own marks right.
    order: 'post',
    handler(_options, bundle) {
      const page = Object.values(bundle).find((one) => one.fileName === 'index.html')!;
      if (page.type !== 'asset') throw new Error('index.html is no asset');
      let html = String(page.source).replace(/<script type="module"[^>]*><\/script>/, '');
      for (const [name, one] of Object.entries(bundle)) {
        if (one === page) continue;
        delete bundle[name];
        if (one.type === 'chunk') {
          const script = one.code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
          html = html.replace('</body>', () => `<script type="module">${script}</script>\n  </body>`);
        } else if (name.endsWith('.css')) {
          html = html.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${one.source}</style>`);
        }
      }
      page.source = html;
      const runtime = readFileSync(require.resolve('onnxruntime-web/ort-wasm-simd-threaded.wasm'));
      this.emitFile({ type: 'asset', fileName: 'runtime.wasm.gz', source: gzipSync(runtime, { level: 9 }) });
    },
  },
};

export default defineConfig({
  root: here('./world'),
  base: './',
  cacheDir: here('../node_modules/.vite-world'),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [absent, oneFile],
  resolve: {
    // The engine's code runs as it is: what it asks of Node, the page has in its own way.
    alias: [
      { find: /^node:fs(\/promises)?$/, replacement: here('world/node/files.ts') },
      { find: 'node:crypto', replacement: here('world/node/crypto.ts') },
      { find: 'node:module', replacement: here('world/node/module.ts') },
      { find: 'node:path', replacement: 'pathe' },
      { find: 'node:url', replacement: here('world/node/url.ts') },
      { find: 'node:util', replacement: here('world/node/util.ts') },
      { find: 'onnxruntime-node', replacement: here('world/node/runtime.ts') },
    ],
  },
  build: {
    outDir: here('../dist/world'),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: { codeSplitting: false },
      shimMissingExports: true,
      // The rooms' indexes name everything: what the page does not use of them is left out.
      treeshake: { moduleSideEffects: (id: string) => !id.startsWith(engine) },
      onLog: (level, log, handler) => (log.code === 'SHIMMED_EXPORT' ? undefined : handler(level, log)),
    },
  },
});
