// Where rules run. What a user's file says runs in QuickJS, in a thread that is ended where no limit of QuickJS ends it; rules that are
// trusted run as ordinary code, in a realm of their own of this process: the same requests, the same answers, many times as fast, and no
// protection at all. Both run one program, text as it shares nothing with this process: it keeps parsed states, runs rules on drafts of
// them (immer, evaluated in there too) and answers in JSON. Before either, a rules file is turned from a module into one function, which
// is evaluated anew for each call.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { nameAside, reverieError } from '../../../core/errors.js';
import { AskedThread, compiledUrl } from '../../../core/threads.js';

export interface SandboxLimits {
  readonly memoryBytes: number;
  /** Interrupts, each after a fixed number of steps of the interpreter: the same code is stopped at the same place. */
  readonly interrupts: number;
  /** For code that goes slowly: a last resort, as it depends on the machine. */
  readonly milliseconds: number;
}

export const LIMITS: SandboxLimits = { memoryBytes: 64 * 2 ** 20, interrupts: 10_000, milliseconds: 10_000 };

/**
 * Why there is no answer. `time`: too much was computed, which is the same everywhere. `clock`: the machine may have been busy or asleep.
 * `died`: the interpreter or its thread is no more.
 */
export class SandboxFailure extends Error {
  constructor(
    readonly reason: 'code' | 'memory' | 'time' | 'clock' | 'stack' | 'died',
    message: string,
  ) {
    super(message);
  }
}

/** What is evaluated before the first request. */
export interface RulesProgram {
  /** The function that a rules file became, as text. */
  readonly rules: string;
  /** The file as it is, and what of it was found to be exported. */
  readonly text: string;
  readonly exports: readonly string[];
  /** What the file is called in errors. */
  readonly file: string;
  readonly limits: SandboxLimits;
}

/** What a text of the sandbox says went wrong. @param late whether the clock was over */
export function failureOf(message: string, late = false): SandboxFailure {
  if (message.includes('InternalError: interrupted'))
    return new SandboxFailure(late ? 'clock' : 'time', 'it ran too long and was stopped');
  if (message.includes('InternalError: out of memory'))
    return new SandboxFailure('memory', 'it needed too much memory');
  if (message.includes(': stack overflow')) return new SandboxFailure('stack', 'it called itself too deeply');
  if (message.includes('could not load module'))
    return new SandboxFailure('code', 'rules are one file: import is not there');
  return new SandboxFailure('code', message);
}

const KEPT_GLOBALS = [
  'globalThis Infinity NaN undefined parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent',
  'encodeURI decodeURI Object Array String Number Boolean Symbol Math JSON RegExp Reflect Map Set WeakMap WeakSet',
  'Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError InternalError',
]
  .join(' ')
  .split(' ');

/** Characters of what a tool returns. */
const LONGEST_OBSERVATION = 1_000_000;

/**
 * `(immer) => ask`: call once with immer's exports. `ask(text)` takes a request and answers, both JSON; `ask.load` takes the function that a
 * rules file became. A request names states by their keys, and brings those that are new: whole (`hold`), or as changes of one that is there
 * (`derive`).
 */
export const SANDBOX_PROGRAM = `
(function (immer) {
  'use strict';
  const { produceWithPatches, enablePatches } = immer;
  const { parse, stringify } = JSON;
  const { freeze, isFrozen, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, values: valuesOf } = Object;
  const { ownKeys } = Reflect;
  enablePatches();

  class ToolError extends Error {}
  class Unfit extends Error {}
  const states = new Map();
  /** Evaluated anew for each call, so that none of its variables outlives one. */
  let rulesFile;

  /** Parts of states, which never change, and their texts once rules have asked for them, as they compare parts by these. */
  const texts = new WeakMap();
  const remembering = {
    stringify(value, ...how) {
      if (how.length > 0 || !texts.has(value)) return stringify(value, ...how);
      const text = texts.get(value) ?? stringify(value);
      texts.set(value, text);
      return text;
    },
  };

  function keep(key, state) {
    states.set(key, freezeDeep(state));
    for (const part of valuesOf(state)) {
      if (typeof part === 'object' && part !== null && !texts.has(part)) texts.set(part, undefined);
    }
  }

  function freezeDeep(value) {
    if (typeof value !== 'object' || value === null || isFrozen(value)) return value;
    freeze(value);
    for (const key in value) freezeDeep(value[key]);
    return value;
  }

  function unfit(where, what) {
    return new Unfit((where.length > 100 ? where.slice(0, 97) + '...' : where) + ' ' + what);
  }

  /** In a state nothing may be undefined; in an observation such keys are left out, as JSON does. */
  function requireJson(value, where, isState, depth) {
    if (depth > 128) throw unfit(where, 'is nested too deeply');
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
    if (typeof value === 'number' && value - value === 0) return;
    if (typeof value === 'number') throw unfit(where, 'is ' + value);
    if (typeof value !== 'object') throw unfit(where, 'is of type ' + typeof value);
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) requireJson(value[i], where + '/' + i, isState, depth + 1);
      return;
    }
    const prototype = getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) throw unfit(where, 'is no plain object');
    for (const key of ownKeys(value)) {
      if (typeof key !== 'string') throw unfit(where, 'has a symbol for a key');
      if (isState || value[key] !== undefined) requireJson(value[key], where + '/' + key, isState, depth + 1);
    }
  }

  function member(rules, group, name, what) {
    const table = rules[group];
    if (table === null || typeof table !== 'object') throw new Unfit(group + ' is no object');
    if (!hasOwn(table, name)) return undefined;
    if (typeof table[name] !== 'function') throw new Unfit(what + ' is of type ' + typeof table[name] + ', not a function');
    return (...args) => table[name](...args);
  }

  function observationOf(value) {
    if (value === undefined) throw new Unfit('it returned undefined, where a text or JSON is needed');
    if (typeof value !== 'string') requireJson(value, 'what it returned', false, 0);
    const text = typeof value === 'string' ? value : stringify(value);
    if (text.length > ${LONGEST_OBSERVATION}) throw new Unfit('it returned ' + text.length + ' characters: too many');
    return text;
  }

  function read(call) {
    return outcome(call, (tool) => ({
      observation: observationOf(tool(states.get(call.state), call.args)),
      patches: [],
    }));
  }

  /** The state after it is kept under the key \`keep\`, made as anyone makes it who is told the changes. */
  function write(call) {
    const { state, args, keep: key } = call;
    return outcome(call, (tool) => {
      let observation;
      const [, patches] = produceWithPatches(states.get(state), (draft) => {
        observation = observationOf(tool(draft, args));
      });
      for (const { op, path, value } of patches) {
        if (op !== 'remove') requireJson(value, 'what it wrote at /' + path.join('/'), true, 0);
      }
      if (patches.length > 0) keep(key, changed(states.get(state), patches));
      return { observation, patches };
    });
  }

  /** Shares with the state what no change touches; keys stand in the order in which the changes make them. */
  function changed(state, changes) {
    const copies = new Set();
    const copyOf = (value) => {
      if (copies.has(value)) return value;
      const copy = Array.isArray(value) ? value.slice() : { ...value };
      copies.add(copy);
      return copy;
    };
    let root = copyOf(state);
    for (const { op, path, value } of changes) {
      if (path.length === 0) {
        root = value;
        continue;
      }
      if (path.includes('__proto__')) throw new Unfit('"__proto__" is no key of a state');
      let at = root;
      for (const key of path.slice(0, -1)) at = at[key] = copyOf(at[key]);
      const key = path[path.length - 1];
      if (Array.isArray(at) && op === 'add') at.splice(key, 0, value);
      else if (Array.isArray(at) && op === 'remove') at.splice(key, 1);
      else if (op === 'remove') delete at[key];
      else at[key] = value;
    }
    return root;
  }

  /** A refusal in the tool's own words comes before that of its precondition, and both before what is wrong with it. */
  function outcome(call, run) {
    const rules = rulesFile();
    const tool = member(rules, 'tools', call.name, 'the tool');
    if (tool === undefined) throw new Unfit('there is no such tool');
    const reasons = reasonsAgainst(call, rules);
    try {
      const found = run(tool);
      return reasons.length > 0 ? { refused: reasons.join('; ') } : found;
    } catch (error) {
      if (error instanceof ToolError) return { refused: String(error.message) };
      if (reasons.length > 0) return { refused: reasons.join('; ') };
      throw error;
    }
  }

  function reasonsAgainst({ name, state, args }, rules = rulesFile()) {
    const precondition = rules.preconditions && member(rules, 'preconditions', name, 'the precondition');
    if (precondition === undefined) return [];
    const reasons = precondition(states.get(state), args);
    if (!Array.isArray(reasons) || reasons.some((reason) => typeof reason !== 'string'))
      throw new Unfit('the precondition returned no list of texts');
    return reasons;
  }

  function brokenInvariants({ before, after }) {
    const { invariants } = rulesFile();
    if (invariants === undefined) return [];
    const [a, b] = [states.get(before), states.get(after)];
    return invariants.map((holds, i) => {
      const reason = holds(a, b);
      if (reason !== null && reason !== undefined && typeof reason !== 'string')
        throw new Unfit('invariant ' + i + ' returned neither null nor a text');
      return reason;
    }).filter((reason) => reason);
  }

  function runCheck({ name, initialState, finalState, messages }) {
    const rules = rulesFile();
    const check = rules.checks && member(rules, 'checks', name, 'the check');
    if (check === undefined) throw new Unfit('there is no such check');
    const episode = freeze({
      initialState: states.get(initialState),
      finalState: states.get(finalState),
      messages: freezeDeep(messages),
    });
    const found = check(episode);
    const { passed, reason } = typeof found === 'object' && found !== null ? found : { passed: found };
    if (passed !== null && typeof passed !== 'boolean') throw new Unfit('it returned neither true, false nor null');
    return { passed, reason: reason === undefined ? '' : String(reason) };
  }

  function outline() {
    const rules = rulesFile();
    const names = (group) => {
      if (rules[group] === undefined) return [];
      if (rules[group] === null || typeof rules[group] !== 'object') throw new Unfit(group + ' is no object');
      for (const name of Object.keys(rules[group])) {
        if (typeof rules[group][name] !== 'function')
          throw new Unfit(group + '.' + name + ' is of type ' + typeof rules[group][name] + ', not a function');
      }
      return Object.keys(rules[group]);
    };
    if (rules.invariants !== undefined && !Array.isArray(rules.invariants)) throw new Unfit('invariants is no list');
    for (const one of rules.invariants ?? []) {
      if (typeof one !== 'function') throw new Unfit('an invariant is of type ' + typeof one + ', not a function');
    }
    const invariants = (rules.invariants ?? []).map((_, i) => String(i));
    return { tools: names('tools'), preconditions: names('preconditions'), checks: names('checks'), invariants };
  }

  const requests = {
    outline,
    read,
    write,
    precondition: reasonsAgainst,
    invariants: brokenInvariants,
    check: runCheck,
  };

  function ask(text) {
    const asked = parse(text);
    for (const key of asked.drop) states.delete(key);
    if (asked.hold) for (const { key, state } of asked.hold) keep(key, state);
    if (asked.derive) for (const { key, from, changes } of asked.derive) keep(key, changed(states.get(from), changes));
    try {
      return stringify({ answer: requests[asked.request](asked) ?? null });
    } catch (error) {
      if (error instanceof Unfit) return stringify({ failed: error.message });
      if (typeof error !== 'object' || error === null) return stringify({ failed: 'it threw ' + String(error) });
      return stringify({ failed: 'it threw ' + error.name + ': ' + error.message, stack: String(error.stack) });
    }
  }

  function removeGlobals() {
    const kept = new Set(${JSON.stringify(KEPT_GLOBALS)});
    for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name];
    const none = () => {
      throw new TypeError('rules are pure: there is no Math.random');
    };
    Math.random = none;
    const noCode = function () {
      throw new TypeError('rules cannot make code from text');
    };
    for (const made of [function () {}, function* () {}, async function () {}, async function* () {}]) {
      Object.defineProperty(getPrototypeOf(made), 'constructor', { value: noCode });
    }
  }

  /** A frozen prototype would keep objects from having keys of the same name; these let them, and stay as they are. */
  function allowOverriding(prototype) {
    for (const key of ownKeys(prototype)) {
      const { value, writable } = getOwnPropertyDescriptor(prototype, key);
      if (!writable) continue;
      Object.defineProperty(prototype, key, {
        get: () => value,
        set(other) {
          if (this === prototype) throw new TypeError('"' + String(key) + '" is read-only');
          Object.defineProperty(this, key, { value: other, writable: true, enumerable: true, configurable: true });
        },
      });
    }
  }

  function harden(root) {
    const seen = new Set();
    const left = [root];
    while (left.length > 0) {
      const value = left.pop();
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
      seen.add(value);
      try {
        freeze(value);
      } catch (error) {
        // A realm of V8 keeps its global object open; rules there do not get to see it.
        if (value !== globalThis) throw error;
      }
      left.push(getPrototypeOf(value));
      for (const key of ownKeys(value)) {
        const { value: inner, get, set } = getOwnPropertyDescriptor(value, key);
        left.push(inner, get, set);
      }
    }
  }
  removeGlobals();
  JSON.stringify = remembering.stringify;
  globalThis.ToolError = ToolError;
  for (const { prototype } of [Object, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError])
    allowOverriding(prototype);
  harden(globalThis);
  for (const made of [function* () {}, async function () {}, async function* () {}, [][Symbol.iterator](),
    ''[Symbol.iterator](), new Map().entries(), new Set().values(), /a/[Symbol.matchAll]('a')]) harden(made);
  ask.load = (file) => {
    rulesFile = file;
  };
  return ask;
})
`;

/** Immer as one expression: its exports. It keeps what rules do not have. */
export function immerSource(): string {
  const main = createRequire(import.meta.url).resolve('immer');
  const text = readFileSync(path.join(path.dirname(main), 'immer.cjs.production.js'), 'utf8');
  return `(() => { const { Proxy, Function } = globalThis; const module = { exports: {} }; ((module, exports) => {${text}\n})(module, module.exports); return module.exports; })()`;
}

/** Beyond its limit of time, before a thread counts as hanging. */
const GRACE_MS = 2_500;
/** For a thread to start, on a machine that is busy. */
const BOOT_MS = 30_000;
const STACK_MB = 16;
const WORKER_URL = new URL(compiledUrl(import.meta.url, './sandbox-thread.js'));

/** What comes back from the thread: the answer as the sandbox wrote it, or why there is none. */
export type ThreadReply =
  | { readonly text: string }
  | { readonly failed: string; readonly reason: SandboxFailure['reason'] };

/** Answers requests of `SANDBOX_PROGRAM`, both in JSON: values of one realm are not those of another. What it was sent ends with it. */
export interface RulesPlace {
  /** Blocks until the answer is there. @throws SandboxFailure */
  ask(request: string): string;
  end(): void;
}

export class SandboxThread implements RulesPlace {
  private readonly thread: AskedThread<ThreadReply>;

  /** @throws SandboxFailure */
  constructor(private readonly program: RulesProgram) {
    this.thread = new AskedThread(WORKER_URL, { program }, { env: {}, resourceLimits: { stackSizeMb: STACK_MB } });
    try {
      textOf(this.thread.receive(BOOT_MS), `the thread they run in did not start within ${BOOT_MS / 1000} seconds`);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  ask(request: string): string {
    return textOf(this.thread.ask(request, this.program.limits.milliseconds + GRACE_MS));
  }

  end(): void {
    this.thread.end();
  }
}

function textOf(reply: ThreadReply | undefined, otherwise = 'it ran too long and was stopped'): string {
  if (reply === undefined) throw new SandboxFailure('clock', otherwise);
  if ('text' in reply) return reply.text;
  throw new SandboxFailure(reply.reason, reply.failed);
}

let trusted = false;

/** From now on rules that are loaded in this thread run without a sandbox: on the word of the one who started the process. */
export function trustRules(): void {
  trusted = true;
}

export function areRulesTrusted(): boolean {
  return trusted;
}

type Ask = ((request: string) => string) & { load(rules: unknown): void };

export class TrustedRealm implements RulesPlace {
  private readonly answer: Ask;

  /** @param isPure the file keeps nothing between calls: it is evaluated once. @throws SandboxFailure */
  constructor({ rules, file }: RulesProgram, isPure = false) {
    const realm = createContext({});
    this.answer = failing(() => {
      const answer = runInContext(SANDBOX_PROGRAM, realm)(runInContext(immerSource(), realm)) as Ask;
      // Their `globalThis` is a frozen stand-in, as that of a realm cannot be frozen.
      const evaluated = runInContext(`((globalThis) => ${rules})(Object.freeze({}))`, realm, { filename: file });
      const kept = isPure ? evaluated() : undefined;
      answer.load(isPure ? () => kept : evaluated);
      return answer;
    });
  }

  ask(request: string): string {
    return failing(() => this.answer(request));
  }

  end(): void {}
}

function failing<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { name = 'error', message = String(error) } = (error ?? {}) as Partial<Error>;
    if (name === 'RangeError' && message.includes('call stack'))
      throw new SandboxFailure('stack', 'it called itself too deeply');
    throw new SandboxFailure('code', `${name}: ${message}`);
  }
}

const RULES_EXPORTS = ['tools', 'preconditions', 'invariants', 'checks'] as const;

const MAX_CHARACTERS = 2_000_000;
const DECLARED = /((?:^|[;}/])[ \t]*)export([ \t]+(?:const|let|var|function|class)[ \t]+([\w$]+))/gm;
const LISTED = /((?:^|[;}/])[ \t]*)export([ \t\r\n]*\{([^{}]*)\})/gm;

/**
 * Turns a rules file from a module into a function, `(function () { ... return { tools, ... }; })`, with lines as in the file. Exports are
 * found by their text; the sandbox, which evaluates the file as a module too, refuses a file that exports anything else.
 * @throws RULES_INVALID
 */
export function readRules(text: string, file: string): Pick<RulesProgram, 'rules' | 'exports'> {
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
    rules: `(function () { "use strict"; ${body}\nreturn { ${returned} };\n})`,
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
  return `it exports "${name}", which means nothing here${nameAside(name, RULES_EXPORTS)}`;
}
