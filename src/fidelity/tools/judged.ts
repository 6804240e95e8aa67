// A model of tools under judgement, as the questions see it: something that answers calls in states it is put into, or a served
// environment that one can only live in.

import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../env/tools/tools-family.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import { type EpisodeSettings, planRow, type RowPlan } from '../../synth/episodes/run-episode.js';
import type { MustFailReport } from '../../worldmodel/must-fail/run-must-fail.js';
import type { FidelitySetup } from '../setup.js';
import { AskedQuestions } from './answers.js';
import { castOf, liveFidelityEpisode } from './episodes.js';
import { LivedEpisodes, type LivedOptions } from './lived-episodes.js';
import { type CarrySequence, carriedBy } from './open-loop.js';
import type { LiveInDream } from './rank.js';
import type { ToolsTruth } from './recorded-truth.js';
import type { ServedTools } from './served.js';

/** What all models of a run are judged by. */
export interface ToolsGround {
  readonly setup: FidelitySetup<ToolsScenario>;
  readonly domain: ToolsDomain;
  readonly user: UserSimulator;
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
  /** Absent where one can only live in it. */
  readonly answering?: AnsweringModel;
  readonly asked: AskedQuestions;
  readonly carry: CarrySequence;
  readonly lived: LivedEpisodes;
  /** What agents that are ranked live in. */
  readonly dream: Responder | LiveInDream;
  /** What a reader must know, by what is measured. */
  readonly notes: Readonly<Record<'steps' | 'reward' | 'said', readonly string[]>>;
}

const OWN_TASK = 'Nobody who answers sees records of the task that is asked about: they would be the answers.';

export function answeringJudged(ground: ToolsGround, model: AnsweringModel): ToolsJudged {
  const { setup, domain, user, truth, judge } = ground;
  const { scenario, seed } = setup;
  const { unaided } = model;
  const stage = { scenario, domain, user, seed, responder: unaided, judge: judge?.decide };
  const live: LivedOptions['live'] = (row, signal) =>
    liveFidelityEpisode(stage, { ...castOf(domain.tasks, row, seed), row, source: 'synthetic' }, signal);
  return {
    ground,
    answering: model,
    asked: new AskedQuestions({ responder: unaided, questions: truth.questions, seed }),
    carry: carriedBy(unaided, { domain, seed }),
    lived: livedEpisodes(ground, live),
    dream: unaided,
    notes: {
      steps: [...truth.notes, OWN_TASK],
      reward:
        judge === undefined
          ? []
          : [
              `What exact checks leave open is decided by ${judge.version}, in the dream and for real; its own errors: reverie audit.`,
            ],
      said: truth.notes,
    },
  };
}

const BY_HASH =
  'Whether a state is right is known by the hash of it that the server tells after each step; one that keeps no state is wrong wherever calls change something.';
const WORTH = 'What a dreamt episode was worth is what the server says at its end.';

export function servedJudged(ground: ToolsGround, served: ServedTools): ToolsJudged {
  const { setup, domain, truth } = ground;
  const { scenario, seed } = setup;
  const { maxSteps } = scenario.config.synth;
  const live: LivedOptions['live'] = async (row, signal) => {
    const { task, agent } = castOf(domain.tasks, row, seed);
    const plan = planRow(row, { seed, groupSize: 1, branchAt: 0 });
    const episode = await served.live(playOf(agent, task, plan, domain, maxSteps), signal);
    return episode && { ...episode, task: task.id, policyVersion: agent.version };
  };
  const dream: LiveInDream = async (agent, task, plan, signal) => {
    const episode = await served.live(playOf(agent, task, plan, domain, maxSteps), signal);
    return { return: episode?.verdict.reward ?? null, length: episode?.steps.length ?? 0 };
  };
  const notes = [served.note, ...truth.notes];
  return {
    ground,
    asked: new AskedQuestions({ responder: NOBODY, questions: [], seed }),
    carry: served.carry,
    lived: livedEpisodes(ground, live),
    dream,
    notes: { steps: [...notes, BY_HASH], reward: [served.note, WORTH], said: notes },
  };
}

const NOBODY: Responder = {
  version: 'nobody',
  answer: () => Promise.reject(new Error('A served environment is asked nothing out of its episodes.')),
  close: () => {},
};

function livedEpisodes({ setup, domain, judge }: ToolsGround, live: LivedOptions['live']): LivedEpisodes {
  const decide = judge?.decide;
  const hasTruth = domain.rules !== undefined && domain.tasks.length > 0;
  return new LivedEpisodes({
    domain,
    count: hasTruth ? setup.scenario.config.fidelity.episodes : 0,
    live,
    ...(decide && {
      decide: async (ended, signal) => (await decide({ domain, ...ended, predictions: [] }, signal)).verdict,
    }),
  });
}

type Play = Parameters<ServedTools['live']>[0];

/** As `runEpisode` lets an agent act that is in no group. */
function playOf(
  agent: ToolsPolicy,
  task: ToolsTask,
  { envSeed, agentSeed }: RowPlan,
  { tools }: ToolsDomain,
  maxSteps: number,
): Play {
  const act: Play['act'] = async (messages, step) =>
    (await agent.act({ messages, tools, task, seed: agentSeed, step })).action;
  return { task: task.id, seed: envSeed, act, maxSteps };
}
