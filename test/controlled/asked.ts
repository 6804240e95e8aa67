// Who asks, and what: read off the name of the schema and the sections of the last message.

import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { Rng } from '../../src/core/rng.js';
import { requestRng } from '../llm-server/faults.js';
import type { LlmServerRequestBody } from '../llm-server/llm-server.js';

export interface Asked {
  /** Name of the schema of the reply; `agent` for turns with tools; `text` for anything else. */
  readonly role: string;
  /** By heading; a section that is no JSON is left out. */
  readonly sections: Readonly<Record<string, Json>>;
  /** The last message of the user, whole. */
  readonly text: string;
  readonly body: LlmServerRequestBody;
  /** Depends on the request's content and seed. */
  readonly rng: Rng;
}

export function readRequest(body: LlmServerRequestBody, seed: number): Asked {
  const text = body.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const name = body.response_format?.json_schema?.name;
  const fixedRng = requestRng(seed, `${name} ${body.messages.map(contentKey).join(' ')}`, 0);
  return {
    role: name ?? (body.tools === undefined ? 'text' : 'agent'),
    sections: sectionsOf(text),
    text,
    body,
    rng: fixedRng.split('attempt', body.seed ?? 0),
  };
}

/** Long texts that many requests share (policy and tools) are hashed once. */
const hashes = new Map<string, string>();
const MOST_HASHES = 256;

function contentKey({ role, content, tool_calls }: LlmServerRequestBody['messages'][number]): string {
  const text = content ?? '';
  const key = role === 'system' ? (hashes.get(text) ?? hashed(text)) : `${text.length}:${text}`;
  return `${role}:${key}${tool_calls === undefined ? '' : JSON.stringify(tool_calls.map((call) => call.function))}`;
}

function hashed(text: string): string {
  const hash = createHash('sha256').update(text).digest('hex');
  if (hashes.size >= MOST_HASHES) hashes.clear();
  hashes.set(text, hash);
  return hash;
}

/** Sections of a message: a heading, then a line of JSON. Those of one heading are taken together: a world's prompt grows by them. */
export function sectionsOf(text: string): Record<string, Json> {
  const found: Record<string, Json> = {};
  for (const [, heading, line] of text.matchAll(/^## (.+)\n(.+)$/gm)) {
    const content = parseJson(line);
    if (content !== undefined) found[heading.trim()] = together(found[heading.trim()], content);
  }
  return found;
}

function together(before: Json | undefined, more: Json, levels = 2): Json {
  if (Array.isArray(before) && Array.isArray(more)) return [...before, ...more];
  if (levels === 0 || typeof before !== 'object' || before === null || Array.isArray(before)) return more;
  const parts = Object.entries(asObject(more)).map(([key, part]) => [
    key,
    together(asObject(before)[key], part, levels - 1),
  ]);
  return { ...before, ...Object.fromEntries(parts) };
}

export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function asList(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

export function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
