// A policy of text as a folder, written whole or not at all: what it is, how far its training is, and its exact state.
//
//   text-policy.json       network, settings, progress, hash of the weights; sealed
//   learner.safetensors    weights, moments of Adam, reference
//   policy/                the policy as others open it, where its network has such a form: a decoder as `transformers` does
//
// Nothing in it depends on the clock or the machine.

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../../core/canonical-json.js';
import { describeIssues, reverieError } from '../../../core/errors.js';
import { openSealed, recoverFolder, replaceFolderAtomic, sealedText } from '../../../core/files.js';
import { float32 } from '../../../nn/graph.js';
import { decodeTensors, encodeTensors } from '../../../nn/safetensors.js';
import type { TextLearner, TextLearnerState } from '../../../rl/text/text-policy.js';
import type { TextProgress } from '../../../training/text-training.js';

const POLICY_FILE = 'text-policy.json';
const STATE_FILE = 'learner.safetensors';

const count = z.int().min(0);

const gatheredSchema = z.strictObject({
  episodes: count,
  steps: count,
  wins: count,
  agent: z.string(),
  made: z.array(z.string()),
  heldOut: z
    .strictObject({
      steps: count,
      wrongStates: count,
      wrongStatus: count,
      wrongObservations: count,
      rewards: count,
      wrongRewards: count,
      rewardError: z.number(),
      unanswered: count,
    })
    .nullable(),
  trustHorizon: count.nullable(),
  values: z
    .strictObject({
      episodes: count,
      steps: count,
      skipped: count,
      heldOutEpisodes: count,
      heldOutSteps: count,
      error: z.number(),
      constantError: z.number(),
      skill: z.strictObject({
        value: z.number().nullable(),
        low: z.number().nullable(),
        high: z.number().nullable(),
      }),
      rank: z.number().nullable(),
      auc: z.number().nullable(),
      pairs: count,
      rightPairs: count,
    })
    .optional(),
});

const checkSchema = z.strictObject({
  round: count,
  episodes: count,
  steps: count,
  apart: z.strictObject({ unanswered: count, state: count, text: count, commands: count, end: count }),
  wrong: z.record(z.string(), count),
  dreamWins: count,
  realWins: count,
  confirmedWins: count,
  realSteps: count,
});

const grownSchema = z.strictObject({
  outcomes: z.array(z.number().min(0).max(1)),
  taken: count,
  lived: z
    .array(z.strictObject({ won: z.boolean(), did: z.array(z.string()), lostBy: z.string().optional() }))
    .optional(),
});

const manifestSchema = z.strictObject({
  format: z.literal('reverie-text-policy'),
  formatVersion: z.literal(2),
  scenario: z.string(),
  seed: z.int(),
  /** Version of the domain it learned in. */
  domain: z.string(),
  network: z.string(),
  settings: z.record(z.string(), z.unknown()),
  gradientSteps: count,
  policyVersion: z.string(),
  progress: z.strictObject({
    round: count,
    realSteps: count,
    dreamtSteps: count,
    valuedChoices: count.optional(),
    cloned: z.boolean(),
    clonedSteps: count,
    answeredBy: z.record(z.string(), count),
    gathered: z.array(gatheredSchema),
    evaluations: z.array(
      z.strictObject({
        after: z.enum(['nothing', 'cloning', 'rounds']),
        round: count,
        realSteps: count,
        dreamtSteps: count,
        episodes: count,
        wins: count,
        meanLength: z.number(),
      }),
    ),
    checks: z.array(checkSchema).default([]),
    grown: z.record(z.string(), grownSchema).default({}),
    watched: z.array(
      z.strictObject({ spread: z.number(), entropy: z.number(), repetition: z.number(), success: z.number() }),
    ),
    alarms: z.array(z.strictObject({ round: count, problem: z.string() })),
    isShut: z.boolean().optional(),
  }),
  sha256: z.string(),
});
export type TextPolicyManifest = z.infer<typeof manifestSchema>;

export interface SavedTextPolicy {
  readonly manifest: TextPolicyManifest;
  readonly state: TextLearnerState;
}

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
    format: 'reverie-text-policy',
    formatVersion: 2,
    ...about,
    ...meta,
    policyVersion: learner.policy.version,
    sha256: sha256(bytes),
  });
  await replaceFolderAtomic(folder, async (temporary) => {
    await writeFile(join(temporary, STATE_FILE), bytes);
    await writeFile(join(temporary, POLICY_FILE), sealedText(manifest));
  });
}

/**
 * The policy of a run, or of a checkpoint's folder.
 * @throws INPUT_MISSING, CHECKPOINT_CORRUPT
 */
export async function loadTextPolicy(given: string): Promise<SavedTextPolicy> {
  const folders = [policyFolder(given), given];
  for (const folder of folders) await recoverFolder(folder);
  const folder = folders.find((one) => existsSync(join(one, POLICY_FILE)));
  if (folder === undefined)
    throw reverieError('INPUT_MISSING', { what: 'policy of text', path: given, input: 'checkpoint' });
  const manifest = await readManifest(join(folder, POLICY_FILE));
  const { network, settings, gradientSteps } = manifest;
  const path = join(folder, STATE_FILE);
  const corrupt = (problem: string, cause?: unknown) => reverieError('CHECKPOINT_CORRUPT', { path, problem }, cause);
  const bytes = await readFile(path).catch((error: Error) => {
    throw corrupt(error.message, error);
  });
  if (sha256(bytes) !== manifest.sha256) throw corrupt('its content does not match its hash');
  const arrays: Record<string, Float32Array> = {};
  for (const [name, { data }] of Object.entries(decodeTensors(bytes))) {
    arrays[name] = data as Float32Array;
  }
  return { manifest, state: { meta: { network, settings, gradientSteps }, arrays } };
}

async function readManifest(path: string): Promise<TextPolicyManifest> {
  try {
    return manifestSchema.parse(openSealed(await readFile(path, 'utf8')));
  } catch (error) {
    const problem = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem }, error);
  }
}
