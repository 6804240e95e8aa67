// What of a scenario of numbers counts, and what no schema can see.

import { resolve } from 'node:path';
import type { ScenarioSections } from '../../core/kind.js';
import { checkEnvSpec } from '../../env/index.js';
import { dynamicsKinds } from '../../worldmodel/index.js';
import { type ScenarioConfig, scenarioFileSchema, scenarioSchema } from './scenario.js';

export const vectorSections: ScenarioSections<ScenarioConfig> = {
  schema: scenarioSchema,
  fileSchema: scenarioFileSchema,
  check: ({ env }) => void checkEnvSpec(env),
  files: namedFiles,
};

function namedFiles({ env, model }: ScenarioConfig, folder: string): string[] {
  const mjcf = (env as { mjcf?: unknown }).mjcf;
  const files = typeof mjcf === 'string' ? [resolve(folder, mjcf)] : [];
  const { broughtFolder, filesOf } = dynamicsKinds.get(model.kind);
  if (broughtFolder !== undefined) files.push(...(filesOf?.(resolve(folder, broughtFolder(model))) ?? []));
  return files;
}
