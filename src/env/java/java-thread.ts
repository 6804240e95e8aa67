// The thread that has a Java process: starts it, asks it over its socket, and tells when it has ended. Whoever asks sleeps until
// the answer is there. The process ends with this thread, however that ends, as its standard input is closed then.

import { type ChildProcess, spawn } from 'node:child_process';
import { workerData } from 'node:worker_threads';
import { answerOn, type ThreadLine } from '../../core/asked-thread.js';
import { GatewayConnection } from './gateway-connection.js';
import {
  arrayCommand,
  callCommand,
  constructCommand,
  dropCommand,
  type JavaAnswer,
  type JavaCall,
  setFirstCommand,
} from './gateway-lines.js';

/** How a Java process is started. */
export interface JavaStart {
  readonly program: string;
  /** py4j's jar. Others are loaded by the objects that need them. */
  readonly classPath: string;
  /** Where it runs: programs that were not written to be moved read files beside them. */
  readonly folder: string;
}

export type JavaRequest =
  /** Makes an object of a jar's class by its constructor without arguments, with all of the jar's classes for itself if it should. */
  | { readonly verb: 'make'; readonly className: string; readonly jar: string; readonly own: boolean }
  /** Calls its methods one after another, without waiting in between. */
  | { readonly verb: 'call'; readonly object: string; readonly calls: readonly JavaCall[] }
  | { readonly verb: 'drop'; readonly object: string };

/** What a method answered; lists are lists of texts. */
export type JavaValue = string | number | boolean | null | readonly string[];

export type JavaReply =
  | { readonly values: readonly JavaValue[]; readonly pid?: number }
  /** A Java exception: its class and message. */
  | { readonly thrown: string }
  /** There is no such program as that named. */
  | { readonly missing: string }
  /** The process has ended. */
  | { readonly died: string };

const STDERR_BYTES = 2_000;
/** Between texts of a list. */
const SEPARATOR = '\u001f';

class Thrown extends Error {}
class Missing extends Error {}

class JavaProcess {
  private readonly child: ChildProcess;
  private stderr = '';
  /** Rejects when the process ends, saying how. */
  private readonly ended: Promise<never>;
  private port = 0;
  private token = '';
  private main!: GatewayConnection;
  /** Connections of objects with classes of their own, as py4j takes classes of one name for one class within a connection. */
  private readonly own = new Map<string, GatewayConnection>();
  /** Classes that objects share, by jar and name. */
  private readonly classes = new Map<string, string>();

  constructor({ program, classPath, folder }: JavaStart) {
    const options = ['-XX:+UseSerialGC', '-cp', classPath, 'py4j.GatewayServer', '--enable-auth'];
    const child = spawn(program, [...options, '--die-on-broken-pipe', '0'], { cwd: folder, stdio: 'pipe' });
    this.child = child;
    child.stderr.on('data', (part: Buffer) => {
      this.stderr = (this.stderr + part.toString('utf8')).slice(-STDERR_BYTES);
    });
    child.stdin.on('error', () => undefined);
    this.ended = new Promise((_, reject) => {
      child.on('error', (error) => reject(new Missing(error.message)));
      child.on('close', (code, signal) => reject(new Error(this.howEnded(code, signal))));
    });
    this.ended.catch(() => undefined);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** What it answers, or how it ended meanwhile: that says more than a connection that is lost. */
  async whileRunning<T>(work: Promise<T>): Promise<T> {
    try {
      return await Promise.race([work, this.ended]);
    } catch (error) {
      if (error instanceof Thrown || error instanceof Missing) throw error;
      this.child.kill('SIGKILL');
      return await this.ended;
    }
  }

  async begin(): Promise<void> {
    const [port, token] = await this.firstLines();
    this.child.stdout?.resume();
    this.port = Number(port);
    this.token = token;
    this.main = await this.connection();
  }

  /** Nothing keeps the thread once the process has ended; it is waited for, so that it is not left behind half dead. */
  end(): void {
    this.child.kill('SIGKILL');
  }

  async make(className: string, jar: string, own: boolean): Promise<string> {
    const key = `${jar} ${className}`;
    const loaded = (own ? undefined : this.classes.get(key)) ?? (await this.load(className, jar));
    if (!own) this.classes.set(key, loaded);
    const made = await this.object(callCommand(loaded, ['newInstance']));
    if (own) {
      await this.main.exchange([dropCommand(loaded)]);
      this.own.set(made, await this.connection());
    }
    return made;
  }

  async call(object: string, calls: readonly JavaCall[]): Promise<JavaValue[]> {
    const connection = this.own.get(object) ?? this.main;
    const answers = await connection.exchange(calls.map((call) => callCommand(object, call)));
    const values: JavaValue[] = [];
    for (const answer of answers) values.push(await this.read(answer));
    return values;
  }

  async drop(object: string): Promise<void> {
    this.own.get(object)?.end('it was dropped');
    this.own.delete(object);
    await this.main.exchange([dropCommand(object)]);
  }

  private connection(): Promise<GatewayConnection> {
    return GatewayConnection.open(this.port, this.token);
  }

  /** The class, by a loader of its own: what its code keeps in common, it shares with nobody else's. */
  private async load(className: string, jar: string): Promise<string> {
    const file = await this.object(constructCommand('java.io.File', [jar]));
    const uri = await this.object(callCommand(file, ['toURI']));
    const url = await this.object(callCommand(uri, ['toURL']));
    const urls = await this.object(arrayCommand('java.net.URL'));
    await this.main.exchange([setFirstCommand(urls, { object: url })]);
    const loader = await this.object(constructCommand('java.net.URLClassLoader', [{ object: urls }]));
    const loaded = await this.object(callCommand(loader, ['loadClass', className]));
    await this.main.exchange([file, uri, url, urls, loader].map(dropCommand));
    return loaded;
  }

  private async read(answer: JavaAnswer): Promise<JavaValue> {
    if ('value' in answer) return answer.value;
    if (!('object' in answer)) throw await this.thrownBy(answer);
    const { object, isList } = answer;
    const join = callCommand('z:java.lang.String', ['join', SEPARATOR, { object }]);
    const text = isList ? join : callCommand(object, ['toString']);
    const [told] = await this.main.exchange([text, dropCommand(object)]);
    const value = await this.read(told);
    if (!isList) return value;
    return value === '' ? [] : String(value).split(SEPARATOR);
  }

  private async object(command: string): Promise<string> {
    const [answer] = await this.main.exchange([command]);
    if ('object' in answer) return answer.object;
    throw 'value' in answer ? new Thrown(`an object was expected, not ${answer.value}`) : await this.thrownBy(answer);
  }

  private async thrownBy(answer: JavaAnswer): Promise<Thrown> {
    if (!('thrownObject' in answer)) return new Thrown('thrown' in answer ? answer.thrown.trim().split('\n')[0] : '');
    const { thrownObject } = answer;
    const [told] = await this.main.exchange([callCommand(thrownObject, ['toString']), dropCommand(thrownObject)]);
    return new Thrown('value' in told ? String(told.value) : 'no reason was given');
  }

  /** Port and token, which it writes once it listens. */
  private firstLines(): Promise<[string, string]> {
    return new Promise((resolve) => {
      let text = '';
      const read = (part: Buffer) => {
        text += part.toString('utf8');
        const [port, token, rest] = text.split('\n');
        if (rest === undefined) return;
        this.child.stdout?.off('data', read);
        resolve([port.trim(), token.trim()]);
      };
      this.child.stdout?.on('data', read);
    });
  }

  private howEnded(code: number | null, signal: NodeJS.Signals | null): string {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const last = this.stderr.trim().split('\n').at(-1);
    return last ? `${how}; it last wrote: ${last}` : how;
  }
}

async function replyOf(work: Promise<readonly JavaValue[]>, pid?: number): Promise<JavaReply> {
  try {
    return { values: await java.whileRunning(work), ...(pid !== undefined && { pid }) };
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof Thrown) return { thrown: message };
    return error instanceof Missing ? { missing: message } : { died: message };
  }
}

const { start, line } = workerData as { readonly start: JavaStart; readonly line: ThreadLine };
const java = new JavaProcess(start);

async function answered(request: JavaRequest): Promise<readonly JavaValue[]> {
  switch (request.verb) {
    case 'make':
      return [await java.make(request.className, request.jar, request.own)];
    case 'call':
      return java.call(request.object, request.calls);
    case 'drop':
      await java.drop(request.object);
      return [];
  }
}

line.port.on('message', async (request: JavaRequest) => answerOn(line, await replyOf(answered(request))));
line.port.on('close', () => java.end());
const begun = async () => {
  await java.begin();
  return [];
};
answerOn(line, await replyOf(begun(), java.pid));
