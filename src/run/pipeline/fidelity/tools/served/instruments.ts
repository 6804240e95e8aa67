// All instruments that measure a served environment of tools.

import { rulesResponder, type ToolsDomain, type ToolsPolicy, type ToolsTask } from '../../../../../env/index.js';
import {
  AskedQuestions,
  calibrationInstrument,
  type Instrument,
  kStepsInstrument,
  LivedEpisodes,
  mustFailInstrument,
  oneStepInstrument,
  rewardEndInstrument,
  saidInstrument,
  unlearnable,
  unmeasured,
} from '../../../../../fidelity/index.js';
import { planRow, type RowPlan } from '../../../../../synth/index.js';
import { type LiveInDream, toolsRankInstrument } from '../../ladder/tools.js';
import { castOf } from '../episodes.js';
import type { InstrumentParts } from '../instruments.js';
import type { ServedTools } from './environment.js';

const ONLY_LIVED_IN = 'The state is on the server: it cannot be put into one to be asked about.';
const BY_HASH =
  'Whether a state is right is known by the hash of it that the server tells after each step; one that keeps no state is wrong wherever calls change something.';

export function servedInstruments(given: InstrumentParts, served: ServedTools): Instrument[] {
  const { setup, parts, truth } = given;
  const { domain } = parts;
  const { fidelity, reward, synth } = setup.scenario.config;
  const { sequences } = truth;
  const { carry, note } = served;
  const notes = [note, ...truth.notes];
  const nobody = new AskedQuestions({ responder: rulesResponder(domain), questions: [], seed: setup.seed });
  const lived = livedEpisodes(given, served);
  const never = () => Promise.reject(new Error('A served environment is not put to the suite.'));
  const instruments: Instrument[] = [
    unmeasured(oneStepInstrument({ asked: nobody, repeats: 1 }), ONLY_LIVED_IN),
    kStepsInstrument({ sequences, carry, lived, notes: [...notes, BY_HASH] }),
    rewardEndInstrument({ lived, notes: [note, WORTH] }),
    unmeasured(calibrationInstrument({ asked: nobody }), ONLY_LIVED_IN),
    toolsRankInstrument(setup, parts, liveIn(served, domain, synth.maxSteps)),
    saidInstrument({ sequences, domain, carry, notes }),
    unmeasured(mustFailInstrument({ run: never, limit: reward.mustFail.limit }), ONLY_LIVED_IN),
    unlearnable('Learners are taught by models of this process alone.'),
  ];
  return instruments.filter(({ id }) => fidelity.sections.includes(id));
}

const WORTH = 'What a dreamt episode was worth is what the server says at its end.';

function livedEpisodes(given: InstrumentParts, served: ServedTools): LivedEpisodes {
  const { setup, parts, judge } = given;
  const { scenario, seed } = setup;
  const { domain } = parts;
  const decide = judge?.decide;
  const hasTruth = domain.rules !== undefined && domain.tasks.length > 0;
  return new LivedEpisodes({
    domain,
    count: hasTruth ? scenario.config.fidelity.episodes : 0,
    live: async (row, signal) => {
      const { task, agent } = castOf(domain.tasks, row, seed);
      const plan = planRow(row, { seed, groupSize: 1, branchAt: 0 });
      const episode = await served.live(playOf(agent, task, plan, domain, scenario.config.synth.maxSteps), signal);
      return episode && { ...episode, task: task.id, policyVersion: agent.version };
    },
    ...(decide && {
      decide: async (ended, signal) => (await decide({ domain, ...ended, predictions: [] }, signal)).verdict,
    }),
  });
}

type Play = Parameters<ServedTools['live']>[0];

/** As `liveEpisode` lets an agent act that is in no group. */
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

function liveIn(served: ServedTools, domain: ToolsDomain, maxSteps: number): LiveInDream {
  return async (agent, task, plan, signal) => {
    const episode = await served.live(playOf(agent, task, plan, domain, maxSteps), signal);
    return { return: episode?.verdict.reward ?? null, length: episode?.steps.length ?? 0 };
  };
}
