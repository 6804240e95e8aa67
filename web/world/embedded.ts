// What was written into the page: packed parts, as elements that no browser runs or shows.

import type { WorldData } from '../../src/run/world-page/carried-world.js';

export interface Embedded {
  readonly data: WorldData;
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** ONNX Runtime, where anything answers by a network. */
  readonly runtime?: Uint8Array;
}

/** @throws if no world was written into the page, or the browser cannot unpack it */
export async function readEmbedded(): Promise<Embedded> {
  const parts = [...document.querySelectorAll<HTMLScriptElement>('script[data-part]')];
  const unpacked = await Promise.all(
    parts.map(async ({ dataset: { part, name = '' }, textContent }) => {
      return { part, name, bytes: await unpack(textContent ?? '') };
    }),
  );
  const world = unpacked.find(({ part }) => part === 'world');
  if (world === undefined) throw new Error('No world was written into this page. `reverie page` does that.');
  const runtime = unpacked.find(({ part }) => part === 'runtime')?.bytes;
  const files = unpacked.filter(({ part }) => part === 'file');
  return {
    data: JSON.parse(new TextDecoder().decode(world.bytes)) as WorldData,
    files: Object.fromEntries(files.map(({ name, bytes }) => [name, bytes])),
    ...(runtime !== undefined && { runtime }),
  };
}

async function unpack(base64: string): Promise<Uint8Array<ArrayBuffer>> {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
