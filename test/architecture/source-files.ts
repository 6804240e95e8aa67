// The source as the architecture tests see it: files, their imports, their syntax trees.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

const LEFT_OUT = new Set(['node_modules', 'dist', 'dist-bench', 'runs', '.git', 'coverage', '.cache']);

/** Files under a folder of the repository, as paths from its root with forward slashes. */
export function filesUnder(folder: string, ending = ''): string[] {
  const found: string[] = [];
  for (const name of readdirSync(join(ROOT, folder)).sort()) {
    if (LEFT_OUT.has(name) || name.startsWith('.venv')) continue;
    const path = posix.join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) found.push(...filesUnder(path, ending));
    else if (name.endsWith(ending)) found.push(path);
  }
  return found;
}

export function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

export interface Imports {
  /** Files of ours, as paths from the root. */
  readonly files: readonly string[];
  /** Those of them that are loaded when something is asked for, by a dynamic import alone. */
  readonly lazy: readonly string[];
  /** Packages and built-in modules. */
  readonly packages: readonly string[];
}

/** What a file imports: statically, dynamically and for types alone. */
export function importsOf(file: string): Imports {
  const names = ts.preProcessFile(textOf(file), true, true).importedFiles.map((imported) => imported.fileName);
  const pathOf = (name: string) => posix.join(posix.dirname(file), name).replace(/\.js$/, '.ts');
  const files = names.filter((name) => name.startsWith('.')).map(pathOf);
  const fixed = new Set(declaredImports(file).map(pathOf));
  return {
    files,
    lazy: files.filter((path) => !fixed.has(path)),
    packages: names.filter((name) => !name.startsWith('.')),
  };
}

/** Modules that a file names in its import and export declarations. */
function declaredImports(file: string): string[] {
  return syntaxOf(file).statements.flatMap((statement) => {
    const named = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
    const from = named ? statement.moduleSpecifier : undefined;
    return from !== undefined && ts.isStringLiteral(from) ? [from.text] : [];
  });
}

export function syntaxOf(file: string): ts.SourceFile {
  return ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest, true);
}

/** Calls `visit` for every node of a file. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

/** The room a source file belongs to; undefined for files directly in src/. */
export function roomOf(file: string): string | undefined {
  const [room, ...rest] = relative('src', file).split(/[\\/]/);
  return rest.length > 0 ? room : undefined;
}
