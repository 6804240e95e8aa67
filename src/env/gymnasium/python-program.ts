// Which Python is used, and where it has a package, which it tells without importing it.

import { spawnSync } from 'node:child_process';

/** The interpreter: REVERIE_PYTHON, or what the search path has as `python3`. */
export function pythonProgram(): string {
  return process.env.REVERIE_PYTHON || 'python3';
}

type PythonPackage =
  | { readonly folder: string }
  /** The Python that was asked; `problem`: why it could not be asked, absent where it has no such package. */
  | { readonly python: string; readonly problem?: string };

const folders = new Map<string, string>();

/** @param module as Python imports it */
export function pythonPackage(module: string): PythonPackage {
  const python = pythonProgram();
  const key = `${python} ${module}`;
  const known = folders.get(key);
  if (known !== undefined) return { folder: known };
  const script = `import importlib.util as u; s = u.find_spec('${module}'); print(s.submodule_search_locations[0] if s else '')`;
  const { stdout, error } = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  if (error) return { python, problem: `it could not be started: ${error.message}` };
  const folder = stdout.trim();
  if (folder === '') return { python };
  folders.set(key, folder);
  return { folder };
}
