// One episode of a tools environment as a value: where it stands, and how much of its clock is spent. And its snapshot: what
// cannot be had from domain and task.

import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import type { RngState } from '../../core/rng.js';
import type { ToolsDomain, ToolsTask } from './domain.js';
import { loadSituation, type SavedSituation, type Situation, savedSituation, saveSituation } from './situation.js';

export interface Episode {
  readonly situation: Situation;
  /** Where in the conversation the last observation begins. */
  readonly observedFrom: number;
  /** Actions taken. */
  readonly steps: number;
  /** What the user said, the opening included. */
  readonly turns: number;
  readonly running: boolean;
  /** Sum of what exact backends paid; null as long as none did. */
  readonly paid: number | null;
}

const count = z.int().min(0);

const savedEpisode = z.strictObject({
  ...savedSituation,
  /** Version of the domain. */
  domain: z.string(),
  task: z.string(),
  observedFrom: count,
  steps: count,
  turns: count,
  running: z.boolean(),
  paid: z.number().optional(),
  /** The environment's own stream, from which seeds of episodes come. */
  rng: z.strictObject({ key: z.tuple([z.number(), z.number()]), position: z.number() }),
});

export type SavedEpisode = z.output<typeof savedEpisode>;

/** The episode as plain JSON; of a size with the conversation, not with the state. */
export function saveEpisode(domain: ToolsDomain, episode: Episode, rng: RngState): SavedEpisode {
  const { situation, observedFrom, steps, turns, running, paid } = episode;
  const { seed, row, operations, messages, calls, stateHash }: SavedSituation = saveSituation(situation);
  return structuredClone({
    domain: domain.version,
    task: situation.task.id,
    seed,
    ...(row === undefined ? {} : { row }),
    operations,
    messages,
    observedFrom,
    calls,
    steps,
    turns,
    running,
    ...(paid === null ? {} : { paid }),
    stateHash,
    rng: { key: [...rng.key] as [number, number], position: rng.position },
  });
}

/** The version of the domain a saved episode belongs to, where it is one at all. */
export function domainOfSaved(saved: unknown): Json | undefined {
  return (saved as { domain?: Json } | null | undefined)?.domain;
}

/**
 * The episode again, and the stream.
 * @throws where it is damaged: not of this form, operations that do not apply or lead elsewhere, a task unknown
 */
export function loadEpisode(
  domain: ToolsDomain,
  saved: unknown,
  taskOf: (id: string) => ToolsTask,
): { episode: Episode; rng: RngState } {
  const { task, observedFrom, steps, turns, running, paid = null, rng, ...kept } = savedEpisode.parse(saved);
  const situation = { ...loadSituation(domain, taskOf(task), kept), ended: false };
  return { episode: { situation, observedFrom, steps, turns, running, paid }, rng };
}
