// Rules that a user trusts, as ordinary code: the program of the sandbox in a realm of its own of this process, compiled by V8.
// The same requests, the same answers, many times as fast; and no protection at all, neither from what rules reach nor from
// how long they take.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createContext, type Context as Realm, runInContext } from 'node:vm';
import { type RulesProgram, SandboxFailure } from './interpreter.js';
import { SANDBOX_PROGRAM } from './sandbox-program.js';

let trusted = false;

/** From now on rules that are loaded in this thread run without a sandbox: on the word of whoever started the process. */
export function trustRules(): void {
  trusted = true;
}

export function areRulesTrusted(): boolean {
  return trusted;
}

type Ask = ((request: string) => string) & {
  tell(request: object, encode: (answer: unknown) => unknown): unknown;
  load(rules: unknown): void;
};

export class TrustedSandbox {
  private answer: Ask | undefined;
  private starts = 0;
  private closed = false;

  constructor(private readonly program: RulesProgram) {}

  /** Which realm will answer, the first being 1: another one has forgotten all that was sent. @throws SandboxFailure */
  get generation(): number {
    this.start();
    return this.starts;
  }

  /** The answer to a request of `SANDBOX_PROGRAM`, both JSON. @throws SandboxFailure */
  ask(request: string): string {
    const answer = this.start();
    try {
      return answer(request);
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** As `ask`, without texts: values are copied on their way in and out, as those of one realm are not those of another. */
  tell(request: object): unknown {
    const answer = this.start();
    try {
      return answer.tell(request, copied);
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** Forgets all that was sent. */
  restart(): void {
    this.answer = undefined;
  }

  close(): void {
    this.closed = true;
    this.restart();
  }

  private start(): Ask {
    if (this.closed) throw new SandboxFailure('died', 'the domain was closed');
    if (this.answer !== undefined) return this.answer;
    this.starts += 1;
    const { rules, file } = this.program;
    const realm = createContext({});
    try {
      const immer = runInContext(immerSource(), realm);
      const answer = runInContext(SANDBOX_PROGRAM, realm)(immer, false) as Ask;
      answer.load(rulesIn(realm, rules, file));
      this.answer = answer;
      return answer;
    } catch (error) {
      throw failureOf(error);
    }
  }
}

function rulesIn(realm: Realm, rules: string, filename: string): unknown {
  // Their `globalThis` is a frozen stand-in, as that of a realm cannot be frozen.
  return runInContext(`((globalThis) => ${rules})(Object.freeze({}))`, realm, { filename });
}

/** A value as JSON would carry it out. */
function copied(value: unknown): unknown {
  if (typeof value === 'number') return value + 0;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Array.from(value, copied);
  const copy: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) {
    if (part === undefined) continue;
    if (key !== '__proto__') copy[key] = copied(part);
    else
      Object.defineProperty(copy, key, { value: copied(part), writable: true, enumerable: true, configurable: true });
  }
  return copy;
}

function failureOf(error: unknown): SandboxFailure {
  const { name = 'error', message = String(error) } = (error ?? {}) as Partial<Error>;
  const isDeep = name === 'RangeError' && message.includes('call stack');
  return new SandboxFailure(isDeep ? 'stack' : 'code', isDeep ? 'it called itself too deeply' : `${name}: ${message}`);
}

/** Immer as one expression: its exports. It keeps what rules do not have. */
function immerSource(): string {
  const main = createRequire(import.meta.url).resolve('immer');
  const text = readFileSync(path.join(path.dirname(main), 'immer.cjs.production.js'), 'utf8');
  return `(() => { const { Proxy, Function } = globalThis; const module = { exports: {} }; ((module, exports) => {${text}\n})(module, module.exports); return module.exports; })()`;
}
