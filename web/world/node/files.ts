// `node:fs` and `node:fs/promises` as far as the page needs them: the files that were carried along, to be read. Whatever else of these
// modules is asked for belongs to what a page never does.

/** Read as Node's Buffer is: as text where text is wanted. */
class FileBytes extends Uint8Array {
  override toString(): string {
    return new TextDecoder().decode(this);
  }
}

const files = new Map<string, FileBytes>();

/** What can be read from now on, by paths from the root. */
export function putFiles(given: Readonly<Record<string, Uint8Array>>): void {
  for (const [name, bytes] of Object.entries(given)) files.set(`/${name}`, new FileBytes(bytes));
}

export function readFileSync(path: string, encoding?: string): FileBytes | string {
  const bytes = files.get(path);
  if (bytes === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
  return encoding === undefined ? bytes : bytes.toString();
}

export async function readFile(path: string, encoding?: string): Promise<FileBytes | string> {
  return readFileSync(path, encoding);
}

export function existsSync(path: string): boolean {
  return files.has(path) || [...files.keys()].some((name) => name.startsWith(`${path}/`));
}

/** Whether there is such a file or folder is all that is asked for. */
export async function stat(path: string): Promise<object> {
  if (existsSync(path)) return {};
  throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
}
