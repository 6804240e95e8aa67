// `reverie page`, and a training's dream beside its report: a world in one file of HTML, to be played wherever a browser opens it, without
// a server. The page itself is built from web/world; what is written into it here is packed (gzip, base64), so that nothing in it is ever
// read as markup.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { ReverieError, reverieError } from '../../core/errors.js';
import { compiledUrl } from '../../core/worker-url.js';
import type { ToolsDomain } from '../../env/index.js';
import { writeFileAtomic } from '../../store/atomic-file.js';
import type { ToolsScenario } from '../scenario.js';
import { type CarriedWorld, type CarryOptions, carriedDream, carriedWorld } from './carried-world.js';

/** Folder of the page as it is built. */
const BUILT = fileURLToPath(compiledUrl(import.meta.url, '../../world/'));

/** Why a training may end without a page. */
const NO_PAGE = ['WORLD_NOT_CARRIED', 'PAGE_NOT_BUILT'];

/** Where the built page has a world. */
const PLACE = '<!-- world -->';

export interface WorldPageOptions extends CarryOptions {
  /** The file to write. */
  readonly out: string;
  /** Folder of the built page. */
  readonly built?: string;
}

export interface WorldPageResult {
  readonly file: string;
  readonly bytes: number;
  readonly tasks: number;
  readonly backends: readonly string[];
  readonly absent: readonly string[];
}

/** @throws PAGE_NOT_BUILT, what `carriedWorld` throws, and storage errors */
export async function writeWorldPage(
  reference: string,
  { out, built = BUILT, ...options }: WorldPageOptions,
): Promise<WorldPageResult> {
  const page = builtPage(built);
  return writePage(await carriedWorld(reference, options), page, out);
}

/**
 * The last dream of a training, written beside its report by the training itself.
 * @returns why there is none, where its world or its backends cannot be taken along, or where the page was not built
 * @throws storage errors
 */
export async function writeDreamPage(
  domain: ToolsDomain,
  scenario: ToolsScenario,
  run: string,
  { out, built = BUILT, ...options }: WorldPageOptions,
): Promise<WorldPageResult | string> {
  try {
    const carried = await carriedDream(domain, scenario, run, options);
    return await writePage(carried, builtPage(built), out);
  } catch (error) {
    if (error instanceof ReverieError && NO_PAGE.includes(error.code)) return error.message;
    throw error;
  }
}

function builtPage(built: string): string {
  const page = resolve(built, 'index.html');
  if (!existsSync(page)) throw reverieError('PAGE_NOT_BUILT', { file: page });
  return page;
}

async function writePage(
  { data, tasks, files, hasNetwork }: CarriedWorld,
  page: string,
  out: string,
): Promise<WorldPageResult> {
  const template = await readFile(page, 'utf8');
  const parts = [
    part('world', gzipSync(JSON.stringify(data), { level: 9 })),
    ...Object.entries(files).map(([name, bytes]) => part('file', gzipSync(bytes, { level: 9 }), name)),
    ...(hasNetwork ? [part('runtime', await readFile(resolve(page, '../runtime.wasm.gz')))] : []),
  ];
  // A function: what stands in a replacement text for something else must not be read as that.
  const html = template.replace(PLACE, () => parts.join('\n'));
  const file = resolve(out);
  await writeFileAtomic(file, html);
  return {
    file,
    bytes: Buffer.byteLength(html),
    tasks: tasks.length,
    backends: data.model.backends,
    absent: data.absent,
  };
}

function part(kind: 'world' | 'file' | 'runtime', bytes: Uint8Array, name = ''): string {
  const of = name === '' ? '' : ` data-name="${name}"`;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return `<script type="application/gzip" data-part="${kind}"${of}>${text}</script>`;
}

/** What was written, for people. */
export function worldPageText({ file, bytes, tasks, backends, absent }: WorldPageResult): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  return [
    `${file}: ${tasks} ${tasks === 1 ? 'task' : 'tasks'}, answered by ${backends.join(', then ')}; ${size}.`,
    ...absent.map((line) => `Left out: ${line}`),
    'Open it in a browser. It loads nothing from elsewhere.',
  ].join('\n');
}
