// What of a scenario of numbers counts, and what no schema can see.

import { resolve } from 'node:path';
import type { ScenarioSections } from '../../core/kind.js';
import { checkEnvSpec } from '../../env/index.js';
import { dynamicsKinds } from '../../worldmodel/index.js';
import { type ScenarioConfig, scenarioSchemas } from './scenario.js';

/** As they are now: plugins add to them. */
export function vectorSections(): ScenarioSections<ScenarioConfig> {
  return { ...scenarioSchemas(), check: ({ env }) => void checkEnvSpec(env), identity: whatCounts, files: namedFiles };
}

/** Where rows lie changes no result. */
function whatCounts({ replay: { storage: _, ...replay }, ...rest }: Omit<ScenarioConfig, 'seed' | 'workers'>): object {
  return { ...rest, replay };
}

function namedFiles({ env, model }: ScenarioConfig, folder: string): string[] {
  const mjcf = (env as { mjcf?: unknown }).mjcf;
  const files = typeof mjcf === 'string' ? [resolve(folder, mjcf)] : [];
  const { broughtFolder, filesOf } = dynamicsKinds.get(model.kind);
  if (broughtFolder !== undefined) files.push(...(filesOf?.(resolve(folder, broughtFolder(model))) ?? []));
  return files;
}
