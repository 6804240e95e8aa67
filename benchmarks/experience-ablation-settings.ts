// What all of experience.ablation shares. Episodes are recorded as those of a job, but for judge and weights.

import type { ToolsDomain } from '../src/env/tools/domain.js';
import type { Source } from '../src/replay/transition.js';
import type { EpisodeSettings } from '../src/synth/episodes/run-episode.js';

export const ABLATION_ID = 'experience.ablation';
/** The error that the value is reported at: of a model that is good, not perfect. */
export const TYPICAL = 0.1;
export const MAX_STEPS = 30;

export function plainSettings({ id, version }: ToolsDomain, source: Source, seed = 0): EpisodeSettings {
  return {
    scenario: id,
    scenarioHash: version,
    seed,
    source,
    responderVersion: source,
    userVersion: 'scripted',
    maxSteps: MAX_STEPS,
    weigh: () => 1,
  };
}
