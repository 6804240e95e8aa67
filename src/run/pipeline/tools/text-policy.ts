// Policies of text: how they see a domain, learners as a scenario has them, and checkpoints, each a folder that is written whole or not at
// all:
//
//   text-policy.json       network, settings, progress, hash of the weights; sealed
//   learner.safetensors    weights, moments of Adam, reference
//
// Nothing in it depends on the clock or the machine.

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import { recoverFolder, replaceFolderAtomic, sealedText } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { LineEnvironment } from '../../../env/tools/text-environment.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import { kindOfDomain, viewOf } from '../../../kinds/registry.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import { float32 } from '../../../nn/graph.js';
import { decodeTensors, encodeTensors } from '../../../nn/safetensors.js';
import { groupEstimators } from '../../../rl/group-estimators.js';
import { type RelevanceSettings, relevanceSchema } from '../../../rl/text/relevance.js';
import { TextLearner, type TextLearnerState } from '../../../rl/text/text-learner.js';
import type { TextProgress } from '../../../training/text-training.js';
import { readSealed } from '../../run-folder.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';

/** Episodes under way at once, where the world says no less; never changes which. */
const LANES = 64;

export interface TextView {
  /** How a call is written among those that are listed. */
  readonly lineOf: (call: CallSpec) => string;
  /** Commands of a task's solution. */
  readonly walkthrough: (task: ToolsTask) => readonly string[];
}

/** By the commands that its world lists. @throws DOMAIN_UNFIT where none are listed */
export function textViewOf(domain: ToolsDomain): TextView {
  const { face, view } = kindOfDomain(domain);
  const isListed = domain.rules?.admissible !== undefined || Array.isArray(domain.initialState.admissible);
  if (view === undefined || !isListed) {
    throw reverieError('DOMAIN_UNFIT', {
      problem: `A policy of text chooses among commands, and "${domain.id}" does not say which do something (task "${domain.tasks[0]?.id ?? ''}").`,
      hint: "Train in a domain of the one tool act whose rules have admissible(state), or whose state lists texts as admissible: ALFWorld's games and games of PDDL do.",
    });
  }
  const lineOf = (call: CallSpec) => String(face?.lineOf?.(call) ?? '');
  return { lineOf, walkthrough: (task) => task.reference?.calls.map(lineOf) ?? [] };
}

/** Environments of lines in which `responder` answers. @throws as `textViewOf` */
export function lanes(
  parts: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
): LineEnvironment[] {
  textViewOf(parts.domain);
  const make = viewOf(parts.domain, () => makeEpisodeEnvironment(parts, responder, config)) as () => LineEnvironment;
  return Array.from({ length: Math.min(LANES, responder.atOnce ?? LANES) }, make);
}

/** What is to be said beside a policy's figures. */
export function remarkOn(who: string): string {
  return `${who} chooses among admissible commands: its success is not that of an agent that writes its own.`;
}

/** Of a scenario: what is asked of its learner. */
interface Learning {
  readonly config: Pick<ToolsScenarioConfig, 'rl'>;
}

/** A fresh learner as the scenario has it. */
export function makeTextLearner(learning: Learning, seed: number): Promise<TextLearner> {
  return madeWith(learning.config.rl.relevance, learning, seed);
}

/**
 * The learner of a run of train, or of a checkpoint's folder; the caller closes it.
 * @throws INPUT_MISSING, CHECKPOINT_CORRUPT
 */
export async function openTextLearner(learning: Learning, seed: number, checkpoint: string): Promise<TextLearner> {
  const { manifest, state } = await loadTextPolicy(checkpoint);
  // As it was trained, whatever the scenario says of it now.
  const learner = await madeWith(manifest.settings, learning, seed);
  try {
    learner.restore(state);
    return learner;
  } catch (error) {
    await learner.close();
    throw error;
  }
}

function madeWith(settings: RelevanceSettings, { config: { rl } }: Learning, seed: number): Promise<TextLearner> {
  const valueCoefficient = groupEstimators.get(rl.algorithm).hasCritic ? (rl.valueCoefficient ?? 0.5) : 0;
  return TextLearner.make(settings, { ...rl, valueCoefficient }, Rng.fromSeed(seed).split('text-learner'));
}

const manifestSchema = z.strictObject({
  format: z.literal('reverie-text-policy'),
  formatVersion: z.literal(2),
  scenario: z.string(),
  seed: z.int(),
  /** Version of the domain it learned in. */
  domain: z.string(),
  network: z.literal('relevance'),
  settings: relevanceSchema,
  gradientSteps: z.int().min(0),
  policyVersion: z.string(),
  /** As it was written, which the seal vouches for. */
  progress: z.custom<TextProgress>((value) => typeof value === 'object' && value !== null),
  sha256: z.string(),
});

const POLICY_FILE = 'text-policy.json';
const STATE_FILE = 'learner.safetensors';

/** Where a checkpoint of a run lies. */
export function policyFolder(out: string): string {
  return join(out, 'checkpoint');
}

/** Writes (or atomically replaces) the folder. @throws STORAGE_FULL, STORAGE_FAILED */
export async function saveTextPolicy(
  folder: string,
  learner: TextLearner,
  about: { readonly scenario: string; readonly seed: number; readonly domain: string; readonly progress: TextProgress },
): Promise<void> {
  const { meta, arrays } = learner.state();
  const tensors = Object.entries(arrays).map(([name, array]) => [name, float32(array)] as const);
  const bytes = encodeTensors(Object.fromEntries(tensors));
  const manifest = manifestSchema.parse({
    ...{ format: 'reverie-text-policy', formatVersion: 2, ...about, ...meta },
    ...{ policyVersion: learner.policy.version, sha256: sha256(bytes) },
  });
  await replaceFolderAtomic(folder, async (temporary) => {
    await writeFile(join(temporary, STATE_FILE), bytes);
    await writeFile(join(temporary, POLICY_FILE), sealedText(manifest));
  });
}

interface SavedTextPolicy {
  readonly manifest: z.infer<typeof manifestSchema>;
  readonly state: TextLearnerState;
}

/** The policy of a run, or of a checkpoint's folder. @throws INPUT_MISSING, CHECKPOINT_CORRUPT */
export async function loadTextPolicy(given: string): Promise<SavedTextPolicy> {
  const folders = [policyFolder(given), given];
  for (const folder of folders) await recoverFolder(folder);
  const folder = folders.find((one) => existsSync(join(one, POLICY_FILE)));
  if (folder === undefined)
    throw reverieError('INPUT_MISSING', { what: 'policy of text', path: given, input: 'checkpoint' });
  const manifest = readSealed(join(folder, POLICY_FILE), manifestSchema);
  const { network, settings, gradientSteps } = manifest;
  const path = join(folder, STATE_FILE);
  const corrupt = (problem: string, cause?: unknown) => reverieError('CHECKPOINT_CORRUPT', { path, problem }, cause);
  const bytes = await readFile(path).catch((error: Error) => {
    throw corrupt(error.message, error);
  });
  if (sha256(bytes) !== manifest.sha256) throw corrupt('its content does not match its hash');
  const tensors = Object.entries(decodeTensors(bytes)).map(([name, { data }]) => [name, data as Float32Array] as const);
  return { manifest, state: { meta: { network, settings, gradientSteps }, arrays: Object.fromEntries(tensors) } };
}
