// Small made-up data in the files of a τ-bench domain (made-up/), so that rules can be tested without the benchmark's own data.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { loadTauDomain, type TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { CallSpec } from '../../../src/env/tools/domain.js';
import { temporaryFolder } from '../../temporary-folder.js';

export const madeUp = (name: string): string => fileURLToPath(new URL(`made-up/${name}`, import.meta.url));
/** Each tool with its kind, and its parameters with their types. */
const TOOLS: Record<TauDomainName, Record<string, string>> = parse(readFileSync(madeUp('tools.yaml'), 'utf8'));

function toolsFile(domain: TauDomainName): object[] {
  return Object.entries(TOOLS[domain]).map(([title, params]) => {
    const [name, kind] = title.split(' ');
    const parsed = params === '' ? [] : params.split(' ').map((param) => param.split(':'));
    return {
      name,
      kind,
      params: parsed.map(([param, type]) => ({ name: param, python_type: type.replaceAll('_|_', ' | ') })),
      doc: `Does ${name}.\n\nArgs:\n${parsed.map(([param]) => `    ${param}: The ${param},\n        as given.`).join('\n')}\n\nReturns:\n    What it is.`,
    };
  });
}

/** Lists of calls, each from the initial state on; at the end of each, calls that show all that is there. */
export function madeUpCalls(domain: TauDomainName): readonly (readonly CallSpec[])[] {
  const lists = parse(readFileSync(madeUp('calls.yaml'), 'utf8'), { merge: true, maxAliasCount: -1 })[domain];
  const shown: [string, JsonObject][] =
    domain === 'airline'
      ? [
          ['get_user_details', { user_id: 'ann_lee_1' }],
          ...['R00001', 'HATHAT'].map((id): [string, JsonObject] => [
            'get_reservation_details',
            { reservation_id: id },
          ]),
          ['search_direct_flight', { origin: 'AAA', destination: 'BBB', date: '2024-05-20' }],
        ]
      : [
          ['get_user_details', { user_id: 'bo_ray_1' }],
          ...['#W1', '#W2', '#W4'].map((id): [string, JsonObject] => ['get_order_details', { order_id: id }]),
        ];
  return lists.map((calls: [string, JsonObject][]) =>
    [...calls, ...shown].map(([name, args]) => ({ name, arguments: args })),
  );
}

/** One task: what a user wants, and calls that do it. */
export function taskRecord(id: string, actions: [string, JsonObject][], criteria: JsonObject = {}): JsonObject {
  const instructions = {
    domain: 'd',
    reason_for_call: 'You want it.\n\nNow.',
    known_info: 'You are ann_lee_1.',
    unknown_info: null,
    task_instructions: 'Be brief.',
  };
  return {
    id,
    user_scenario: { persona: null, instructions },
    initial_state: null,
    evaluation_criteria: {
      actions: actions.map(([name, args]) => ({ action_id: '0', name, arguments: args, info: null })),
      communicate_info: [],
      nl_assertions: null,
      reward_basis: ['DB', 'COMMUNICATE'],
      ...criteria,
    },
  };
}

const READ = { airline: 'get_user_details', retail: 'get_user_details' };

/** A folder with the four files; any of them can be given another text, or left out (null). */
export function tauFolder(domain: TauDomainName, files: Record<string, string | null> = {}): string {
  const folder = temporaryFolder(`tau-${domain}`);
  const all: Record<string, string | null> = {
    'db.json': readFileSync(madeUp(`${domain}.json`), 'utf8'),
    'policy.md': 'Be kind.\n',
    'tools.json': JSON.stringify(toolsFile(domain)),
    'tasks.json': JSON.stringify([taskRecord('0', [[READ[domain], { user_id: 'ann_lee_1' }]])]),
    ...files,
  };
  for (const [name, text] of Object.entries(all)) if (text !== null) writeFileSync(path.join(folder, name), text);
  return folder;
}

export interface Bench {
  /** Calls a tool; answers what the agent is shown. */
  call(name: string, args: JsonObject): string;
  /** The state as it is now. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  readonly state: any;
  readonly domain: Awaited<ReturnType<typeof loadTauDomain>>;
}

const loadedDomains = new Map<string, ReturnType<typeof loadTauDomain>>();

/** A domain over the made-up data, to call tools one after another. */
export async function tauBench(domain: TauDomainName, release: TauRelease): Promise<Bench> {
  const key = `${domain} ${release}`;
  const loading = loadedDomains.get(key) ?? loadTauDomain({ domain, release, folder: tauFolder(domain) });
  loadedDomains.set(key, loading);
  const loaded = await loading;
  let state = loaded.initialState;
  return {
    domain: loaded,
    get state() {
      return state;
    },
    call(name, args) {
      const { operations, observation, isError } = loaded.rules!.execute(state, { id: 'c', name, arguments: args });
      if (isError !== /^(Error: |Unknown action )/.test(observation))
        throw new Error(`isError is wrong: ${observation}`);
      state = applyOperations(state, operations);
      return observation;
    },
  };
}
