// A scenario's domain with its rules run by Node itself instead of in the sandbox: for our own files alone, where thousands
// of answers a second are wanted. Tests compare the two.

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import { recordOperations } from '../../src/env/state/operations.js';
import type {
  CheckResult,
  EpisodeEnd,
  ToolOutcome,
  ToolRules,
  ToolSpec,
  ToolsDomain,
  ToolsTask,
} from '../../src/env/tools/domain.js';
import { scenarioFile } from '../../src/run/scenario.js';

class ToolError extends Error {}

interface RulesModule {
  readonly tools: Record<string, (state: unknown, args: JsonObject) => Json>;
  readonly preconditions: Record<string, (state: JsonObject, args: JsonObject) => string[]>;
  readonly invariants: readonly ((before: JsonObject, after: JsonObject) => string | null)[];
  readonly checks: Record<string, (episode: EpisodeEnd) => { passed: boolean; reason: string }>;
}

/** Folder of a pack's scenario. */
export function scenarioFolder(name: string): string {
  return dirname(scenarioFile(name));
}

export async function nativeDomain(name: string, folder = scenarioFolder(name)): Promise<ToolsDomain> {
  const text = (file: string) => readFileSync(`${folder}/${file}`, 'utf8');
  return {
    id: name,
    version: 'native',
    policy: text('policy.md'),
    tools: parse(text('tools.yaml')) as ToolSpec[],
    stateSchema: JSON.parse(text('state.schema.json')) as JsonObject,
    initialState: frozen(JSON.parse(text('state.json'))) as JsonObject,
    tasks: parse(text('tasks.yaml')) as ToolsTask[],
    rules: nativeRules(await rulesModule(folder)),
    close: () => {},
  };
}

async function rulesModule(folder: string): Promise<RulesModule> {
  Object.assign(globalThis, { ToolError });
  return (await import(pathToFileURL(`${folder}/rules.js`).href)) as RulesModule;
}

function nativeRules(module: RulesModule): ToolRules {
  return {
    version: 'native',
    tools: new Set(Object.keys(module.tools)),
    execute: (state, call) => execute(module, state, call),
    preconditions: (state, call) => module.preconditions[call.name]?.(state, call.arguments) ?? [],
    invariants: (before, after) => module.invariants.flatMap((holds) => holds(before, after) ?? []),
    check: (name, episode): CheckResult => ({ name, ...module.checks[name](episode) }),
    close: () => {},
  };
}

function execute(
  module: RulesModule,
  state: JsonObject,
  call: { readonly name: string; readonly arguments: JsonObject },
): ToolOutcome {
  try {
    const { operations, result } = recordOperations(state, (draft) => {
      const value = module.tools[call.name](draft, call.arguments);
      return typeof value === 'string' ? value : JSON.stringify(value);
    });
    return { operations, observation: result, isError: false };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { operations: [], observation: `Error: ${error.message}`, isError: true };
  }
}

function frozen<V>(value: V): V {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}
