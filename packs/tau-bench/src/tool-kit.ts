// What the tools of a τ-bench domain are made from: who may read or write, how they refuse, how they answer.

import type { Json, JsonObject } from 'reverie/extend';
import type { DataModel } from './data-model.js';
import { type RenderStyle, renderJson } from './render.js';

/** `tau1`: the benchmark as first released, `tau2`: its successor. Their tools differ in words and in some effects. */
export type TauRelease = 'tau1' | 'tau2';

/** A refusal: the agent sees `Error: ` and this text. What was changed before it stays changed, as in Python. */
export class ToolFailure extends Error {}

export interface ToolContext<Database> {
  /** A draft for tools that write; else the frozen state. */
  readonly db: Database;
  readonly release: TauRelease;
  readonly style: RenderStyle;
}

export interface TauTool<Database> {
  readonly writes: boolean;
  /** The release that has it; absent: both. */
  readonly only?: TauRelease;
  /** What the agent is shown. Arguments fit the tool's schema. */
  // biome-ignore lint/suspicious/noExplicitAny: each tool names the type of its arguments, which its schema has checked
  run(args: any, context: ToolContext<Database>): string;
}

/** Refuses in the words of the release: the successor starts its sentences with a capital. Texts begin with a word of ours. */
export function refuse({ release }: { readonly release: TauRelease }, text: string): never {
  throw new ToolFailure(release === 'tau2' ? text[0].toUpperCase() + text.slice(1) : text);
}

export function answer(
  value: unknown,
  model: DataModel | undefined,
  { style }: { readonly style: RenderStyle },
): string {
  return renderJson(value as Json, model, style);
}

/** A copy of part of a call's arguments, to be kept in the state: of the fields of a record, or (first release) of all. */
export function keep<Kept>(
  value: unknown,
  fields: readonly string[],
  { release }: { readonly release: TauRelease },
): Kept {
  const copy = structuredClone(value) as JsonObject;
  if (release === 'tau1') return copy as Kept;
  return Object.fromEntries(fields.map((field) => [field, copy[field]])) as Kept;
}
