// One process at a time works in a run's folder: two that resume one run would write over each other's files.
// The lock is a file that names its holder. A holder that is gone (killed, machine restarted) holds nothing.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { storageError } from '../store/atomic-file.js';

export const LOCK_FILE = 'run.lock';

const holderSchema = z.object({
  pid: z.int(),
  host: z.string(),
  /** When the process began, in the system's own count; null where the system does not tell. Tells reused ids apart. */
  began: z.string().nullable(),
});
type Holder = z.output<typeof holderSchema>;

/**
 * Takes the lock of `folder`; answers what releases it.
 * @throws RUN_IN_USE if a living process, or one of another machine, holds it
 */
export function lockRun(folder: string): () => void {
  const path = join(folder, LOCK_FILE);
  const own: Holder = { pid: process.pid, host: hostname(), began: beganOf(process.pid) };
  if (!tryWrite(path, own)) {
    const holder = readHolder(path);
    if (holder !== undefined && isHeld(holder)) {
      throw reverieError('RUN_IN_USE', { path: folder, pid: holder.pid, host: holder.host, lock: path });
    }
    rmSync(path, { force: true });
    // Whoever else found the same dead holder may have been quicker: then it is refused here.
    if (!tryWrite(path, own)) throw reverieError('RUN_IN_USE', { path: folder, pid: '?', host: own.host, lock: path });
  }
  return () => rmSync(path, { force: true });
}

function tryWrite(path: string, holder: Holder): boolean {
  try {
    writeFileSync(path, `${JSON.stringify(holder)}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw storageError(path, error);
  }
}

/** Undefined if it says nothing: its writer was killed while it wrote. */
function readHolder(path: string): Holder | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

function isHeld({ pid, host, began }: Holder): boolean {
  if (host !== hostname()) return true;
  return isAlive(pid) && (began === null || began === beganOf(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Clock ticks from boot to the start of a process with the boot's id (Linux: proc(5)); null elsewhere. */
function beganOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the command, in parentheses, may hold spaces: fields are counted from behind it.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${boot}:${started}`;
  } catch {
    return null;
  }
}
