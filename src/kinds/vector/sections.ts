// What of a scenario of numbers counts, and what no schema can see.

import { join, resolve } from 'node:path';
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
  const brought = dynamicsKinds.get(model.kind).broughtFolder?.(model);
  if (brought !== undefined) files.push(join(resolve(folder, brought), 'manifest.json'));
  return files;
}
