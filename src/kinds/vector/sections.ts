// What of a scenario of numbers counts, and what no schema can see.

import { resolve } from 'node:path';
import type { ScenarioSections } from '../../core/kind.js';
import { checkEnvSpec } from '../../env/env-spec.js';
import { dynamicsKinds } from '../../worldmodel/kinds.js';
import { type ScenarioConfig, scenarioSchemas } from './scenario.js';

/** As they are now: plugins add to them. */
export function vectorSections(): ScenarioSections<ScenarioConfig> {
  return { ...scenarioSchemas(), check: ({ env }) => void checkEnvSpec(env), identity: whatCounts, files: namedFiles };
}

/** What a run makes no use of changes no result. Runs from before a key was known lack it. */
function whatCounts({ replay, train, ...rest }: Omit<ScenarioConfig, 'seed' | 'workers'>): object {
  const { generative, ...kept } = replay;
  const { offlineUpdates, ...lived } = train;
  return {
    ...rest,
    replay: generative ? { ...kept, generative } : kept,
    train: train.mode === 'offline' ? { ...lived, offlineUpdates } : lived,
  };
}

function namedFiles({ env, model }: ScenarioConfig, folder: string): string[] {
  const mjcf = (env as { mjcf?: unknown }).mjcf;
  const files = typeof mjcf === 'string' ? [resolve(folder, mjcf)] : [];
  const { broughtFolder, filesOf } = dynamicsKinds.get(model.kind);
  if (broughtFolder !== undefined) files.push(...(filesOf?.(resolve(folder, broughtFolder(model))) ?? []));
  return files;
}
