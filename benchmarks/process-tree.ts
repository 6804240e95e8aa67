// What a program and all it started take of the machine, from /proc: processes, processor time, memory.

import { readdirSync, readFileSync } from 'node:fs';

/** Of a process and those below it. */
export interface TreeUse {
  readonly processes: readonly number[];
  /** User and system time of those alive, in seconds. */
  readonly cpuSeconds: number;
  readonly residentMegabytes: number;
}

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly cpuSeconds: number;
  readonly residentMegabytes: number;
}

/** Ticks of the kernel's clock, and bytes of a page of memory, as Linux has them on x86-64 and arm64. */
const TICKS = 100;
const PAGE = 4096;

/** The processes below `root`, which is not one of them itself. Needs Linux. */
export function processesBelow(root: number): TreeUse {
  return useOf(below(root));
}

/** A process without those below it. */
export function processAlone(pid: number): TreeUse {
  return useOf(read(pid));
}

function below(root: number): Seen[] {
  const seen = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? read(Number(name)) : []));
  const found: Seen[] = [];
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    const children = seen.filter(({ parent }) => parent === pid);
    found.push(...children);
    open.push(...children.map((child) => child.pid));
  }
  return found;
}

function useOf(found: readonly Seen[]): TreeUse {
  const sum = (key: 'cpuSeconds' | 'residentMegabytes') => found.reduce((total, one) => total + one[key], 0);
  return {
    processes: found.map(({ pid }) => pid),
    cpuSeconds: sum('cpuSeconds'),
    residentMegabytes: sum('residentMegabytes'),
  };
}

/** proc_pid_stat(5); nothing of a process that ended meanwhile. */
function read(pid: number): Seen[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in brackets, may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const at = (place: number) => Number(fields[place - 3]);
    const cpuSeconds = (at(14) + at(15)) / TICKS;
    return [{ pid, parent: at(4), cpuSeconds, residentMegabytes: (at(24) * PAGE) / 2 ** 20 }];
  } catch {
    return [];
  }
}
