// A rules file before it runs: parsed, checked for what rules may not use, and turned from a module into one function.
// No variable of the file outlives a call: the function is run anew for each, or once where the file can keep nothing.

import { type Node, type Program, parse } from 'acorn';
import { nearest, reverieError } from '../../../core/errors.js';
import { type Insertion, keepsNothing } from './kept-state.js';

export const RULES_EXPORTS = ['tools', 'preconditions', 'invariants', 'checks'] as const;

export interface RulesSource {
  /**
   * `(function (ToolError, HARDEN) { ... return { tools, ... }; })`; lines as in the file. It calls `HARDEN` with all that it
   * holds on to, where it can be evaluated once for all calls.
   */
  readonly program: string;
  /** Nothing that is kept from one call could show in another, if what `HARDEN` is given is frozen. */
  readonly keepsNothing: boolean;
  readonly exports: ReadonlySet<string>;
}

const MAX_CHARACTERS = 2_000_000;
/** Code nested deeper could exhaust the stack of whoever parses it. */
const MAX_DEPTH = 400;

/** @throws RULES_INVALID */
export function readRules(text: string, file: string): RulesSource {
  const invalid = (problem: string) => reverieError('RULES_INVALID', { file, problem });
  if (text.length > MAX_CHARACTERS) throw invalid(`it has ${text.length} characters; the limit is ${MAX_CHARACTERS}`);
  const program = parsed(text, invalid);
  const problem = problemOf(program, text, 0);
  if (problem !== undefined) throw invalid(problem);
  const exported = exportsOf(program, text, invalid);
  const returned = [...exported.names].map(([name, local]) => `${name}: ${local}`).join(', ');
  const shared = keepsNothing(program, FREEZER);
  const body = inserted(exported.body, shared?.insertions ?? []);
  const freeze = shared === undefined ? '' : `${FREEZER}(${shared.bindings.join(', ')});`;
  return {
    program: `(function (ToolError, ${FREEZER}) { "use strict"; ${body}\n${freeze} return { ${returned} };\n})`,
    keepsNothing: shared !== undefined,
    exports: new Set(exported.names.keys()),
  };
}

const FREEZER = 'HARDEN';

function inserted(text: string, insertions: readonly Insertion[]): string {
  const ordered = [...insertions].sort((a, b) => b.at - a.at);
  return ordered.reduce((made, { at, text: part }) => made.slice(0, at) + part + made.slice(at), text);
}

function parsed(text: string, invalid: (problem: string) => Error): Program {
  try {
    return parse(text, { ecmaVersion: 'latest', sourceType: 'module', locations: false });
  } catch (error) {
    throw invalid(error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message);
  }
}

/** The first thing rules may not use, with its line. */
function problemOf(node: Node, text: string, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return `line ${lineOf(text, node)}: it is nested too deeply`;
  const refused = refusalOf(node as Node & Record<string, unknown>);
  if (refused !== undefined) return `line ${lineOf(text, node)}: ${refused}`;
  for (const part of Object.values(node)) {
    for (const child of Array.isArray(part) ? part : [part]) {
      const problem = isNode(child) ? problemOf(child, text, depth + 1) : undefined;
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function refusalOf(node: Node & Record<string, unknown>): string | undefined {
  if (node.async === true || node.type === 'AwaitExpression' || node.await === true) {
    return 'rules answer at once: async and await are not there';
  }
  if (node.type.startsWith('Import') || node.type === 'MetaProperty') return 'rules are one file: import is not there';
  if (typeof node.bigint === 'string') return 'JSON has no BigInt, and rules have none';
  if (node.type === 'ExportDefaultDeclaration' || node.type === 'ExportAllDeclaration' || isReExport(node)) {
    return `rules export by name: ${RULES_EXPORTS.join(', ')}`;
  }
  return undefined;
}

function isReExport(node: Node & Record<string, unknown>): boolean {
  return node.type === 'ExportNamedDeclaration' && node.source !== null;
}

interface Exported {
  /** The file with the word `export`, and lists of exports, blanked out. */
  readonly body: string;
  /** Exported name to the name within. */
  readonly names: ReadonlyMap<string, string>;
}

function exportsOf(program: Program, text: string, invalid: (problem: string) => Error): Exported {
  const names = new Map<string, string>();
  let body = text;
  for (const statement of program.body) {
    if (statement.type !== 'ExportNamedDeclaration') continue;
    const { declaration, specifiers, start, end } = statement;
    const until = declaration?.start ?? end;
    body = body.slice(0, start) + body.slice(start, until).replace(/[^\r\n]/g, ' ') + body.slice(until);
    for (const { exported, local } of specifiers) names.set(nameOf(exported), nameOf(local));
    for (const name of declaration == null ? [] : declaredBy(declaration)) names.set(name, name);
  }
  for (const name of names.keys()) {
    if ((RULES_EXPORTS as readonly string[]).includes(name)) continue;
    throw invalid(`it exports "${name}", which means nothing here (did you mean "${nearest(name, RULES_EXPORTS)}"?)`);
  }
  if (!names.has('tools')) throw invalid('it does not export "tools"');
  return { body, names };
}

function declaredBy(declaration: Node): string[] {
  const { id, declarations } = declaration as unknown as { id?: Node; declarations?: { id: Node }[] };
  const targets = declarations === undefined ? [id] : declarations.map((one) => one.id);
  return targets.map((target) => (target?.type === 'Identifier' ? nameOf(target) : 'a pattern'));
}

/** Of an identifier, or of a text an export is renamed to. */
function nameOf(node: Node): string {
  const { name, value } = node as unknown as { name?: string; value?: string };
  return name ?? String(value);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

function lineOf(text: string, { start }: Node): number {
  return text.slice(0, start).split('\n').length;
}
