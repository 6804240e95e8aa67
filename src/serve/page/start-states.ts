// The states that tasks of a run began in, from the domain of its scenario as it is today. Making a domain takes seconds, so
// the last ones are kept.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { ReverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { initialStateOf, makeDomain, type ToolsDomain } from '../../env/index.js';
import { isToolsScenario } from '../../kinds/index.js';
import { SCENARIO_FILE, savedScenario } from '../../run/index.js';

const KEPT = 4;

export interface Start {
  readonly state?: JsonObject;
  /** Why it is not known. */
  readonly problem?: string;
}

type Known = Promise<ToolsDomain | string>;

export class StartStates {
  private readonly domains = new LRUCache<string, Known>({ max: KEPT, dispose: (known) => void known.then(closed) });

  /** @param folder  of a run */
  async of(folder: string, task: string): Promise<Start> {
    const domain = await this.domainOf(folder);
    if (typeof domain === 'string') return { problem: domain };
    const found = domain.tasks.find(({ id }) => id === task);
    return found === undefined
      ? { problem: `its domain has no task "${task}"` }
      : { state: initialStateOf(domain, found) };
  }

  close(): void {
    this.domains.clear();
  }

  private domainOf(folder: string): Known {
    const written = statSync(join(folder, SCENARIO_FILE), { throwIfNoEntry: false })?.mtimeMs;
    const key = `${written}:${folder}`;
    const known = this.domains.get(key) ?? made(folder);
    this.domains.set(key, known);
    return known;
  }
}

async function made(folder: string): Promise<ToolsDomain | string> {
  try {
    const scenario = await savedScenario(folder);
    if (scenario === undefined || !isToolsScenario(scenario)) return 'the run keeps no scenario of tools';
    return await makeDomain(scenario.config.domain, { folder: scenario.folder });
  } catch (error) {
    if (error instanceof ReverieError) return error.message.replace(/\.$/, '');
    throw error;
  }
}

function closed(domain: ToolsDomain | string): void {
  if (typeof domain !== 'string') domain.close();
}
