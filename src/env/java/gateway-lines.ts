// The lines that go between this process and a Java one with py4j's GatewayServer: what py4j calls its protocol
// (py4j.Protocol, py4j.commands). A command is lines that end with `e`, an answer one line that begins with `!`.

/** An object that the Java process keeps for us, by its id there. */
export interface JavaObject {
  readonly object: string;
}

export type JavaArgument = string | number | boolean | JavaObject;

/** What a method is called with: its name, then its arguments. */
export type JavaCall = readonly [method: string, ...args: JavaArgument[]];

/** Values come as they are, lists and other objects by their ids. */
export type JavaAnswer =
  | { readonly value: string | number | boolean | null }
  | { readonly object: string; readonly isList: boolean }
  | { readonly thrown: string }
  | { readonly thrownObject: string };

const END = 'e\n';

export function authCommand(token: string): string {
  return `A\n${token}\n`;
}

/** @param target id of an object, or `z:` and the name of a class for a static method */
export function callCommand(target: string, [method, ...args]: JavaCall): string {
  return `c\n${target}\n${method}\n${args.map(partOf).join('')}${END}`;
}

export function constructCommand(className: string, args: readonly JavaArgument[] = []): string {
  return `i\n${className}\n${args.map(partOf).join('')}${END}`;
}

/** An array with one element free. */
export function arrayCommand(className: string): string {
  return `a\nc\n${partOf(className)}${partOf(1)}${END}`;
}

export function setFirstCommand(array: string, value: JavaArgument): string {
  return `a\ns\n${array}\n${partOf(0)}${partOf(value)}${END}`;
}

/** The Java process forgets the object. */
export function dropCommand(object: string): string {
  return `m\nd\n${object}\n${END}`;
}

/** @param line without its line break */
export function answerOf(line: string): JavaAnswer {
  if (!line.startsWith('!')) throw new RangeError(`no answer of py4j: ${line.slice(0, 80)}`);
  const [outcome, kind, rest] = [line[1], line[2], line.slice(3)];
  if (outcome !== 'y') {
    return kind === 'r' ? { thrownObject: rest } : { thrown: kind === 's' ? unescaped(rest) : 'no reason was given' };
  }
  return returned(kind, rest);
}

function returned(kind: string, rest: string): JavaAnswer {
  switch (kind) {
    case 's':
      return { value: unescaped(rest) };
    case 'i':
    case 'L':
    case 'd':
    case 'D':
      return { value: Number(rest) };
    case 'b':
      return { value: rest === 'true' };
    case 'n':
    case 'v':
      return { value: null };
    default:
      return { object: rest, isList: kind === 'l' };
  }
}

function partOf(value: JavaArgument): string {
  switch (typeof value) {
    case 'string':
      return `s${escaped(value)}\n`;
    case 'number':
      return Number.isInteger(value) ? `i${value}\n` : `d${value}\n`;
    case 'boolean':
      return `b${value}\n`;
    default:
      return `r${value.object}\n`;
  }
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\r', '\\r').replaceAll('\n', '\\n');
}

const ESCAPES: Readonly<Record<string, string>> = { '\\\\': '\\', '\\n': '\n', '\\r': '\r' };

function unescaped(text: string): string {
  return text.replace(/\\[\\nr]/g, (sequence) => ESCAPES[sequence]);
}
