// Names a process so that others can tell whether it still lives, when its number may long be another's.

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';

export const processNameSchema = z.object({
  pid: z.int(),
  host: z.string(),
  /** When the process began, in the system's own count; null where the system does not tell. Tells reused numbers apart. */
  began: z.string().nullable(),
});

export type ProcessName = z.output<typeof processNameSchema>;

export function thisProcess(): ProcessName {
  return { pid: process.pid, host: hostname(), began: beganOf(process.pid) };
}

/** One of another machine is taken to live, as nobody here can tell. */
export function isLiving({ pid, host, began }: ProcessName): boolean {
  return host !== hostname() || (isThere(pid) && (began === null || began === beganOf(pid)));
}

function isThere(pid: number): boolean {
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
