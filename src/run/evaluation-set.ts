// What a job's figures were measured on: environment, tasks, seeds, whoever acts, and settings. `--evaluation-set` requires that of another
// run, by its hash or as that run's result.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash, type Json } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { type Panel, type PanelParts, panelOf, requirePanel, type WantedPanel } from '../core/evaluation-set.js';
import type { ToolsDomain, ToolsTask } from '../env/tools/domain.js';
import type { JobContext, JobInputs } from './job.js';
import { digestOf, findInput } from './pipeline/inputs.js';
import { RESULT_FILE } from './run-folder.js';
import type { AnyScenario, Scenario } from './scenario.js';
import { versions } from './versions.js';

const HASH = /^[0-9a-f]{16}$/;

/** The evaluation set of a run. @throws STATE_MISMATCH where another is wanted, EVALUATION_SET_UNREADABLE */
export function evaluationSet({ inputs }: Pick<JobContext, 'inputs'>, parts: PanelParts): Panel {
  const panel = panelOf(parts);
  requireSet(panel, inputs);
  return panel;
}

/** @throws STATE_MISMATCH, EVALUATION_SET_UNREADABLE */
export function requireSet(panel: Panel, { panel: wanted }: JobInputs): void {
  if (wanted !== undefined) requirePanel(panel, givenSet(wanted));
}

/** Of a hash, or a file or folder of a run. @throws EVALUATION_SET_UNREADABLE where it is neither */
export function givenSet(given: string): WantedPanel {
  if (HASH.test(given) && !existsSync(given)) return { hash: given };
  try {
    const file = statSync(given).isDirectory() ? join(given, RESULT_FILE) : given;
    const value = JSON.parse(readFileSync(file, 'utf8'));
    const panel: WantedPanel = value.panel ?? value.provenance?.panel ?? value;
    if (HASH.test(panel.hash)) return panel;
  } catch {
    // Said below, as of any other file that holds none.
  }
  throw reverieError('EVALUATION_SET_UNREADABLE', {
    problem: `No evaluation set is named by "${given}" (--evaluation-set).`,
    hint: 'Give the 16 hex digits that a result tells, or the result.json or folder of the run to be compared with.',
  });
}

/** Of what an agent or a learner does in a world of tools. */
export function toolsSet(
  { seed, ...context }: Pick<JobContext<AnyScenario>, 'inputs' | 'seed'>,
  domain: ToolsDomain,
  tasks: readonly ToolsTask[],
  policies: PanelParts['policies'],
  settings: object,
): Panel {
  return evaluationSet(context, {
    environment: domain.version,
    tasks: tasks.map(({ id }) => id),
    seeds: [seed],
    policies,
    settings: settings as Json,
  });
}

type Config = Scenario['config'];
type Context = Pick<JobContext, 'scenario' | 'seed' | 'inputs'>;
interface Measured {
  readonly policies: PanelParts['policies'];
  /** Inputs that take part, by their bytes. */
  readonly given?: readonly ('data' | 'model' | 'checkpoint')[];
  readonly settings?: object;
}

/** Of a world of numbers. */
export async function vectorSet(context: Context, { policies, given = [], settings = {} }: Measured): Promise<Panel> {
  const found = await Promise.all(
    given.map(async (name) => {
      const folder = findInput(context.inputs, name);
      return folder === undefined ? [] : [[name, await digestOf(folder)] as const];
    }),
  );
  return evaluationSet(context, {
    environment: environmentOf(context.scenario.config),
    tasks: [],
    seeds: [context.seed],
    policies: { ...policies, ...Object.fromEntries(found.flat()) },
    settings: settings as Json,
  });
}

interface ComparedArm {
  readonly name: string;
  readonly scenario: Scenario;
}

/** Of several trainings side by side: an arm each, and what all are judged by. */
export function comparisonPanel({ config }: Scenario, arms: readonly ComparedArm[], seeds: readonly number[]): Panel {
  const policies = arms.map(({ name, scenario: { config: own } }) => [
    name,
    digest({ ...learnerVersions(own), ...evaluationSettings(own) }),
  ]);
  const { threshold } = config.train;
  const { finalEpisodes } = config.quickstart;
  return panelOf({
    environment: environmentOf(config),
    tasks: [],
    seeds,
    policies: Object.fromEntries(policies),
    settings: { threshold, finalEpisodes, ...config.eval },
  });
}

function environmentOf({ env }: Config): Json {
  const { reverie: _, node: __, ...packages } = versions();
  return { env: env as unknown as Json, ...packages };
}

/** Who learns, and in what, by what of the scenario decides it: `sac@1f2e3d4c5b6a`. It stands for the policy that comes of it. */
export function learnerVersions({ rl, train, model, rollout, replay }: Config): Record<string, string> {
  const { evalEvery: _, evalEpisodes: _e, threshold: _t, checkpointSeconds: _c, keepPolicyEvery: _k, ...how } = train;
  const learner = `${rl.algorithm}@${digest({ rl, how, replay })}`;
  return train.mode === 'dream' ? { learner, dream: `${model.kind}@${digest({ model, rollout })}` } : { learner };
}

/** What of a training is measured, and how often. */
export function evaluationSettings({ train, eval: of }: Config): Record<string, Json> {
  const { mode, realSteps, offlineUpdates, evalEvery, evalEpisodes, threshold, stopAtThreshold } = train;
  const budget: Record<string, Json> = mode === 'offline' ? { offlineUpdates } : { realSteps };
  return { mode, ...budget, evalEvery, evalEpisodes, threshold, stopAtThreshold, ...of };
}

export function digest(value: unknown): string {
  return contentHash(value).slice(0, 12);
}
