// Can a rules file keep anything from one call to the next? A file that cannot is evaluated once, its values frozen, instead
// of anew for each call, which is most of what a call takes. Whatever is not plainly harmless counts as able to.

import type { Node, Program } from 'acorn';

/** Part of a file's text, and what to put there. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
}

export interface KeptNothing {
  /** Names that the file declares at its top level. */
  readonly bindings: readonly string[];
  /** Freeze what functions close over that are made while the file is evaluated. */
  readonly insertions: readonly Insertion[];
}

type AnyNode = Node & Record<string, unknown>;

/** What makes values of others and keeps nothing; called while the file is evaluated, they run nothing of its own but what is written in place. */
const MAKERS: Readonly<Record<string, readonly string[]>> = {
  Object: ['fromEntries', 'entries', 'keys', 'values', 'freeze'],
  Array: ['from', 'of'],
};
/** Of those, what gives a list; other methods are the language's own only where they are called on lists and texts. */
const LISTS = ['entries', 'keys', 'values', 'from', 'of'];
const METHODS = 'map filter flatMap concat join split slice sort toSorted flat includes indexOf trim repeat'.split(' ');
const IMPLICIT = ['toString', 'valueOf', 'toLocaleString', 'toJSON'];

/** With these a file could hide what it keeps, or notice that its values are frozen. */
const REFUSED_NODES = [
  'ClassDeclaration ClassExpression PrivateIdentifier TryStatement TaggedTemplateExpression YieldExpression',
  'WithStatement',
]
  .join(' ')
  .split(' ');
const REFUSED_NAMES = [
  'Reflect isFrozen isSealed isExtensible preventExtensions getOwnPropertyDescriptor getOwnPropertyDescriptors',
  'defineProperty defineProperties __proto__ setPrototypeOf __defineGetter__ __defineSetter__ HARDEN',
]
  .join(' ')
  .split(' ');

/** @param freezer name of the function that insertions call with what is to be frozen; undefined if state may be kept */
export function keepsNothing(program: Program, freezer: string): KeptNothing | undefined {
  try {
    return new Search(freezer).of(program);
  } catch (error) {
    if (error instanceof MayKeep) return undefined;
    throw error;
  }
}

class MayKeep extends Error {}

function mayKeep(): never {
  throw new MayKeep();
}

class Search {
  private readonly bindings: string[] = [];
  private readonly lists = new Set<string>();
  private readonly insertions: Insertion[] = [];

  constructor(private readonly freezer: string) {}

  of(program: Program): KeptNothing {
    for (const statement of program.body as unknown as AnyNode[]) this.topLevel(statement);
    if (this.bindings.some((name) => name in MAKERS)) mayKeep();
    this.visit(program as unknown as AnyNode, []);
    return { bindings: this.bindings, insertions: this.insertions };
  }

  private topLevel(statement: AnyNode): void {
    if (statement.type === 'ExportNamedDeclaration') {
      if (statement.declaration) this.topLevel(statement.declaration as AnyNode);
    } else if (statement.type === 'VariableDeclaration') {
      for (const { id, init } of statement.declarations as { id: AnyNode; init: AnyNode | null }[]) {
        this.bindings.push(...namesOf(id));
        if (init) this.evaluated(init);
        if (init && id.type === 'Identifier' && this.isList(init)) this.lists.add(id.name as string);
      }
    } else if (statement.type === 'FunctionDeclaration') this.bindings.push(...namesOf(statement.id as AnyNode));
    else if (statement.type !== 'EmptyStatement') mayKeep();
  }

  /** What runs while the file is evaluated may call nothing of the file's own but functions written in place. */
  private evaluated(node: AnyNode): void {
    if (isFunction(node)) return;
    if (node.type === 'NewExpression' || node.type === 'ChainExpression') mayKeep();
    if (node.type !== 'CallExpression') {
      for (const child of childrenOf(node)) this.evaluated(child);
      return;
    }
    const { callee, arguments: given } = node as unknown as { callee: AnyNode; arguments: AnyNode[] };
    if (!this.isOfTheLanguage(callee)) mayKeep();
    this.evaluated(callee.object as AnyNode);
    for (const argument of given) {
      if (isFunction(argument)) this.calledBack(argument);
      else this.evaluated(argument);
    }
  }

  private isOfTheLanguage(callee: AnyNode): boolean {
    if (callee.type !== 'MemberExpression' || callee.computed) return false;
    const [of, method] = [callee.object as AnyNode, nameIn(callee.property) ?? ''];
    const makers = of.type === 'Identifier' ? MAKERS[of.name as string] : undefined;
    return makers === undefined ? METHODS.includes(method) && this.isList(of) : makers.includes(method);
  }

  /** Whether it is plainly a list or a text. */
  private isList(node: AnyNode): boolean {
    if (node.type === 'ArrayExpression' || node.type === 'TemplateLiteral') return true;
    if (node.type === 'Literal') return typeof node.value === 'string';
    if (node.type === 'Identifier') return this.lists.has(node.name as string);
    if (node.type !== 'CallExpression') return false;
    const { object, property } = node.callee as unknown as { object: AnyNode; property: AnyNode };
    const isMade = object?.type === 'Identifier' && (object.name as string) in MAKERS;
    return isMade ? LISTS.includes(nameIn(property) ?? '') : this.isOfTheLanguage(node.callee as AnyNode);
  }

  /** Its own values are closed over by the functions it makes. */
  private calledBack(made: AnyNode): void {
    const body = made.body as AnyNode;
    const makes = hasFunction(body);
    if (makes && (body.type === 'BlockStatement' || made.type !== 'ArrowFunctionExpression')) mayKeep();
    if (body.type === 'BlockStatement') for (const child of childrenOf(body)) this.evaluated(child);
    else this.evaluated(body);
    if (!makes) return;
    const names = (made.params as AnyNode[]).flatMap(namesOf);
    if (writtenIn(body).some((name) => names.includes(name))) mayKeep();
    this.insertions.push({ at: body.start, text: `(${this.freezer}(${names.join(', ')}), ` });
    this.insertions.push({ at: body.end, text: ')' });
  }

  /** `scopes`: what each function around declares. A name of the file's own is never written to, wherever it is declared. */
  private visit(node: AnyNode, scopes: readonly ReadonlySet<string>[]): void {
    refuse(node);
    const inner = isFunction(node) ? [...scopes, declaredIn(node)] : scopes;
    for (const name of writtenBy(node)) {
      if (this.bindings.includes(name) || !inner.some((names) => names.has(name))) mayKeep();
    }
    for (const child of childrenOf(node)) this.visit(child, inner);
  }
}

function refuse(node: AnyNode): void {
  if (REFUSED_NODES.includes(node.type) || node.generator === true) mayKeep();
  if (node.type === 'Identifier' && REFUSED_NAMES.includes(node.name as string)) mayKeep();
  if (node.type === 'Literal' && REFUSED_NAMES.includes(String(node.value))) mayKeep();
  if (node.type !== 'Property') return;
  if (node.kind !== 'init') mayKeep();
  const name = node.computed ? undefined : nameIn(node.key);
  if (isFunction(node.value as AnyNode) && (name === undefined || IMPLICIT.includes(name))) mayKeep();
}

/** Names that a node assigns to. */
function writtenBy(node: AnyNode): string[] {
  if (node.type === 'AssignmentExpression') return namesOf(node.left as AnyNode);
  if (node.type === 'UpdateExpression') return namesOf(node.argument as AnyNode);
  const isLoop = node.type === 'ForInStatement' || node.type === 'ForOfStatement';
  const left = node.left as AnyNode;
  return isLoop && left.type !== 'VariableDeclaration' ? namesOf(left) : [];
}

function writtenIn(node: AnyNode): string[] {
  return [...writtenBy(node), ...childrenOf(node).flatMap(writtenIn)];
}

function declaredIn(made: AnyNode): Set<string> {
  const names = new Set((made.params as AnyNode[]).flatMap(namesOf));
  const collect = (node: AnyNode): void => {
    if (node.type === 'FunctionDeclaration') names.add(nameIn(node.id) ?? '');
    if (isFunction(node)) return;
    if (node.type === 'VariableDeclarator') for (const name of namesOf(node.id as AnyNode)) names.add(name);
    for (const child of childrenOf(node)) collect(child);
  };
  collect(made.body as AnyNode);
  return names;
}

/** Of a pattern: the names it binds or assigns; members of objects are none. */
function namesOf(pattern: AnyNode | null): string[] {
  if (pattern === null) return [];
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name as string];
    case 'ObjectPattern':
      return (pattern.properties as AnyNode[]).flatMap((one) => namesOf((one.value ?? one.argument) as AnyNode));
    case 'ArrayPattern':
      return (pattern.elements as (AnyNode | null)[]).flatMap(namesOf);
    case 'AssignmentPattern':
      return namesOf(pattern.left as AnyNode);
    case 'RestElement':
      return namesOf(pattern.argument as AnyNode);
    default:
      return [];
  }
}

function nameIn(key: unknown): string | undefined {
  const { name, value } = key as { name?: string; value?: unknown };
  return name ?? (value === undefined ? undefined : String(value));
}

function isFunction(node: AnyNode): boolean {
  return /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

function hasFunction(node: AnyNode): boolean {
  return isFunction(node) || childrenOf(node).some(hasFunction);
}

function childrenOf(node: Node): AnyNode[] {
  return Object.values(node)
    .flat()
    .filter((part): part is AnyNode => typeof part === 'object' && part !== null && typeof part.type === 'string');
}
