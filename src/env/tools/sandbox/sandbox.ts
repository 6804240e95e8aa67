// Where rules run. What a user's file says runs in QuickJS, in a thread that is ended where no limit of QuickJS ends it; rules that are
// trusted run as ordinary code, in a realm of their own of this process: the same requests, the same answers, many times as fast, and no
// protection at all. Before either, a rules file is turned from a module into one function, which is evaluated anew for each call.

import { createContext, runInContext } from 'node:vm';
import { nearest, reverieError } from '../../../core/errors.js';
import { AskedThread, compiledUrl } from '../../../core/threads.js';
import { immerSource, type RulesProgram, SANDBOX_PROGRAM, SandboxFailure } from './sandbox-program.js';

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

  /** @param graceMs time beyond the limit after which a thread that does not answer is ended. @throws SandboxFailure */
  constructor(
    private readonly program: RulesProgram,
    private readonly graceMs = GRACE_MS,
  ) {
    this.thread = new AskedThread(WORKER_URL, { program }, { env: {}, resourceLimits: { stackSizeMb: STACK_MB } });
    try {
      textOf(this.thread.receive(BOOT_MS));
    } catch (error) {
      this.end();
      throw error;
    }
  }

  ask(request: string): string {
    return textOf(this.thread.ask(request, this.program.limits.milliseconds + this.graceMs));
  }

  end(): void {
    this.thread.end();
  }
}

function textOf(reply: ThreadReply | undefined): string {
  if (reply === undefined) throw new SandboxFailure('clock', 'it ran too long and was stopped');
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

  /** @throws SandboxFailure */
  constructor({ rules, file }: RulesProgram) {
    const realm = createContext({});
    this.answer = failing(() => {
      const answer = runInContext(SANDBOX_PROGRAM, realm)(runInContext(immerSource(), realm)) as Ask;
      // Their `globalThis` is a frozen stand-in, as that of a realm cannot be frozen.
      answer.load(runInContext(`((globalThis) => ${rules})(Object.freeze({}))`, realm, { filename: file }));
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
  return `it exports "${name}", which means nothing here (did you mean "${nearest(name, RULES_EXPORTS)}"?)`;
}
