// A model of tools under judgement, as the questions see it.

import type { ToolsDomain } from '../../env/tools/domain.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../env/tools/tools-family.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeSettings } from '../../synth/episodes/run-episode.js';
import type { MustFailReport } from '../../worldmodel/must-fail/run-must-fail.js';
import type { FidelitySetup } from '../section.js';
import { AskedQuestions, patiently } from './answers.js';
import { carriedBy, type RunSimulated, runFidelityEpisode, SimulatedEpisodes } from './episodes.js';
import type { ToolsTruth } from './truth.js';

/** What all models of a run are judged by. */
export interface ToolsGround {
  readonly setup: FidelitySetup<ToolsScenario>;
  readonly domain: ToolsDomain;
  readonly user: UserSimulator;
  /** The scenario's own. */
  readonly agent: ToolsPolicy;
  readonly truth: ToolsTruth;
  /** Decides what exact checks leave open. */
  readonly judge?: { readonly version: string; readonly decide: NonNullable<EpisodeSettings['judge']> };
}

/** A model of this process. */
export interface AnsweringModel {
  readonly name: string;
  /** As a job would have it. */
  readonly responder: Responder;
  /** The same without what is remembered of the task that is asked about: records of it would be the answers. */
  readonly unaided: Responder;
  /** Runs the must-fail suite on it, or finds its report where it was tried before. */
  mustFail(signal?: AbortSignal): Promise<MustFailReport>;
  /** Replies are on disk before what was made of them is: rows that are there are never asked for again. */
  flush(): Promise<void>;
}

export interface ToolsJudged {
  readonly ground: ToolsGround;
  readonly answering: AnsweringModel;
  readonly asked: AskedQuestions;
  readonly carry: ReturnType<typeof carriedBy>;
  readonly run: RunSimulated;
  readonly simulated: SimulatedEpisodes;
  /** What a reader must know, by what is measured. */
  readonly notes: Readonly<Record<'steps' | 'reward', readonly string[]>>;
}

const OWN_TASK = 'No backend sees records of the task that is asked about: they would be the answers.';

export function toolsJudged(ground: ToolsGround, answering: AnsweringModel): ToolsJudged {
  const { setup, domain, user, truth, judge } = ground;
  const { scenario, seed } = setup;
  const { unaided } = answering;
  const stage = { scenario, domain, user, seed, responder: unaided };
  const run: RunSimulated = ({ isJudged, ...cast }, signal) => {
    const own = { ...stage, judge: isJudged ? judge?.decide : undefined };
    return patiently(() => runFidelityEpisode(own, { ...cast, source: 'synthetic' }, signal));
  };
  const reward =
    judge === undefined
      ? []
      : [
          `What exact checks leave open is decided by ${judge.version}, in the simulation and for real; its own errors: reverie audit.`,
        ];
  return {
    ground,
    answering,
    asked: new AskedQuestions(unaided, truth.questions, seed),
    carry: carriedBy(unaided, domain, seed),
    run,
    simulated: new SimulatedEpisodes({
      domain,
      seed,
      count: scenario.config.fidelity.episodes,
      run,
      decide: judge?.decide,
    }),
    notes: { steps: [...truth.notes, OWN_TASK], reward },
  };
}
