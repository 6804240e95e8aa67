// A rules file before it runs: turned by its text from a module into one function, which is evaluated anew for each call.

import { nearest, reverieError } from '../../../core/errors.js';

export const RULES_EXPORTS = ['tools', 'preconditions', 'invariants', 'checks'] as const;

export interface RulesSource {
  /** `(function () { ... return { tools, ... }; })`; lines as in the file. No variable outlives a call: each evaluates it anew. */
  readonly program: string;
  readonly exports: readonly string[];
}

const MAX_CHARACTERS = 2_000_000;
const DECLARED = /((?:^|[;}/])[ \t]*)export([ \t]+(?:const|let|var|function|class)[ \t]+([\w$]+))/gm;
const LISTED = /((?:^|[;}/])[ \t]*)export([ \t\r\n]*\{([^{}]*)\})/gm;

/**
 * Turns a rules file from a module into a function. Exports are found by their text; the sandbox, which evaluates the file as a
 * module too, refuses a file that exports anything else.
 * @throws RULES_INVALID
 */
export function readRules(text: string, file: string): RulesSource {
  const invalid = (problem: string) => reverieError('RULES_INVALID', { file, problem });
  if (text.length > MAX_CHARACTERS) throw invalid(`it has ${text.length} characters; the limit is ${MAX_CHARACTERS}`);
  /** Exported name to the name within. */
  const names = new Map<string, string>();
  const body = text
    .replace(/^#!.*/, '')
    .replace(DECLARED, (_, before: string, declaration: string, name: string) => {
      names.set(name, name);
      return `${before}      ${declaration}`;
    })
    .replace(LISTED, (_, before: string, braces: string, list: string) => {
      for (const entry of list.replace(/\/\*.*?\*\/|\/\/.*/gs, '').split(',')) {
        const [local, exported = local] = entry.trim().split(/\s+as\s+/);
        if (local !== '') names.set(exported.replace(/^(['"])(.*)\1$/, '$2'), local);
      }
      return `${before}      ${braces.replace(/[^\r\n]/g, ' ')}`;
    });
  for (const name of names.keys()) {
    const problem = problemOfName(name);
    if (problem !== undefined) throw invalid(problem);
  }
  const returned = [...names].map(([name, local]) => `${name}: ${local}`).join(', ');
  return {
    program: `(function () { "use strict"; ${body}\nreturn { ${returned} };\n})`,
    exports: [...names.keys()],
  };
}

/**
 * What is wrong with the exports of a file; undefined where nothing is.
 * @param exported those of the file as a module
 * @param found those that `readRules` found
 */
export function problemOfExports(exported: readonly string[], found: readonly string[]): string | undefined {
  for (const name of exported) {
    const problem = problemOfName(name);
    if (problem !== undefined) return problem;
    if (found.includes(name)) continue;
    return `write the export of "${name}" as a statement of its own, as in: export const ${name} = …`;
  }
  return exported.includes('tools') ? undefined : 'it does not export "tools"';
}

function problemOfName(name: string): string | undefined {
  if ((RULES_EXPORTS as readonly string[]).includes(name)) return undefined;
  if (name === 'default') return `rules export by name: ${RULES_EXPORTS.join(', ')}`;
  return `it exports "${name}", which means nothing here (did you mean "${nearest(name, RULES_EXPORTS)}"?)`;
}
