// The files an MJCF model consists of: the XML, what it includes, its meshes and textures. All must lie in its folder.

import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { reverieError } from '../../core/errors.js';

export interface ModelFiles {
  /** Shown in errors. */
  readonly path: string;
  /** Name of the XML to compile, within `contents`. */
  readonly main: string;
  /** Contents by path relative to the model's folder, with forward slashes. */
  readonly contents: ReadonlyMap<string, string | Uint8Array>;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** A model that is one string of XML. */
export function inlineModel(name: string, xml: string): ModelFiles {
  return { path: name, main: `${name}.xml`, contents: new Map([[`${name}.xml`, xml]]) };
}

/** A model on disk with everything it names; refuses names that lead outside its folder, also through links. */
export function readModelFiles(file: string): ModelFiles {
  const reader = new ModelReader(file);
  reader.readXml(path.basename(file));
  return { path: file, main: path.basename(file), contents: reader.contents };
}

export function mjcfInvalid(file: string, problem: string, cause?: unknown): Error {
  return reverieError(
    'ENV_UNUSABLE',
    {
      problem: `MuJoCo could not load "${file}": ${problem}`,
      hint: 'Check that the file is MJCF XML that this MuJoCo version compiles, and that files it includes lie in its folder.',
    },
    cause,
  );
}

class ModelReader {
  readonly contents = new Map<string, string | Uint8Array>();
  private readonly folder: string;
  private bytes = 0;

  constructor(private readonly file: string) {
    this.folder = path.dirname(path.resolve(file));
  }

  readXml(name: string): void {
    const content = this.read(name);
    if (content === undefined) throw mjcfInvalid(this.file, `there is no file "${name}"`);
    const xml = content.toString();
    this.contents.set(name, xml);
    const folders = new Set(['', ...attributes(xml, '(?:mesh|texture|asset)dir')]);
    const included = new Set(attributes(xml, 'file', '<include\\b[^>]*?'));
    for (const reference of attributes(xml, 'file')) {
      if (included.has(reference)) this.readIncluded(reference, name);
      else for (const folder of folders) this.readAsset(path.posix.join(folder, reference));
    }
  }

  private readIncluded(reference: string, from: string): void {
    // MuJoCo resolves an include against the main file first, then against the including one.
    const local = path.posix.join(path.posix.dirname(from), reference);
    const name = this.exists(reference) ? path.posix.normalize(reference) : local;
    if (!this.contents.has(name)) this.readXml(name);
  }

  private readAsset(name: string): void {
    if (this.contents.has(name)) return;
    const content = this.read(name);
    if (content !== undefined) this.contents.set(name, content);
  }

  private exists(name: string): boolean {
    return this.read(name) !== undefined;
  }

  /** A file within the folder; undefined if there is none of that name. */
  private read(name: string): Buffer | undefined {
    const target = path.resolve(this.folder, name);
    let real: string;
    try {
      if (isOutside(this.folder, target)) throw mjcfInvalid(this.file, outsideProblem(name));
      real = realpathSync(target);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      throw error;
    }
    if (isOutside(realpathSync(this.folder), real)) throw mjcfInvalid(this.file, outsideProblem(name));
    return this.contentOf(real, name);
  }

  private contentOf(real: string, name: string): Buffer {
    const stat = statSync(real);
    if (!stat.isFile()) throw mjcfInvalid(this.file, `"${name}" is not a regular file`);
    this.bytes += stat.size;
    if (this.bytes > MAX_BYTES) throw mjcfInvalid(this.file, `its files exceed ${MAX_BYTES / 1024 / 1024} MiB`);
    try {
      return readFileSync(real);
    } catch (error) {
      throw mjcfInvalid(this.file, `"${name}" cannot be read: ${(error as Error).message}`, error);
    }
  }
}

function attributes(xml: string, name: string, before = '\\b'): string[] {
  const withoutComments = xml.replace(/<!--[\s\S]*?-->/g, '');
  const pattern = new RegExp(`${before}\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'g');
  return Array.from(withoutComments.matchAll(pattern), (match) => match[1] ?? match[2]);
}

function isOutside(folder: string, target: string): boolean {
  const relative = path.relative(folder, target);
  return relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
}

function outsideProblem(name: string): string {
  return `it names "${name}", which lies outside its folder`;
}
