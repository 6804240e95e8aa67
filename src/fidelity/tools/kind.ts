// Worlds of tools, as a kind that can be judged.

import type { Json } from '../../core/canonical-json.js';
import type { Instrument } from '../instrument.js';
import type { FidelityKind } from '../kind.js';
import { unlearnable } from '../learning/learning.js';
import { unmeasured } from '../section.js';
import { calibrationInstrument } from './calibration.js';
import { distributionInstrument, saidInstrument } from './distribution.js';
import { stepErrorRule } from './horizon.js';
import type { ToolsJudged } from './judged.js';
import { kStepsInstrument } from './k-steps.js';
import { toolsLearningInstrument } from './learning.js';
import { mustFailInstrument } from './must-fail.js';
import { oneStepInstrument } from './one-step.js';
import { toolsRankInstrument } from './rank.js';
import { rewardEndInstrument } from './reward-end.js';

const ONLY_LIVED_IN = 'The state is on the server: it cannot be put into one to be asked about.';

export const toolsKind: FidelityKind<ToolsJudged> = {
  name: 'tools',
  questions: [
    { id: 'one-step', ask: asked(oneStep) },
    { id: 'k-steps', ask: durable(kSteps) },
    { id: 'reward-end', ask: durable(({ lived, notes }) => rewardEndInstrument({ lived, notes: notes.reward })) },
    { id: 'calibration', ask: asked(({ asked, notes }) => calibrationInstrument({ asked, notes: notes.said })) },
    { id: 'rank', ask: durable(({ ground, dream }) => toolsRankInstrument(ground.setup, ground, dream)) },
    { id: 'distribution', ask: durable(distribution) },
    { id: 'must-fail', ask: asked(mustFail) },
    { id: 'learning', ask: durable(learning) },
  ],
  horizon: stepErrorRule,
  card: { tag: 'tool-use', world: 'tool calls over a typed state' },
};

type Ask<Row extends Json = Json> = (judged: ToolsJudged) => Instrument<Row>;

function oneStep({ ground, asked, notes }: ToolsJudged) {
  const { repeats } = ground.setup.scenario.config.fidelity;
  return oneStepInstrument({ asked, repeats, truthBackend: ground.truth.truthBackend, notes: notes.steps });
}

function kSteps({ ground, carry, lived, notes }: ToolsJudged) {
  const { sequences, truthBackend } = ground.truth;
  return kStepsInstrument({ sequences, carry, lived, truthBackend, notes: notes.steps });
}

function distribution({ ground, answering, asked, carry, notes }: ToolsJudged): Instrument {
  const { domain, truth } = ground;
  const said = { sequences: truth.sequences, domain, carry, notes: notes.said };
  return (
    answering === undefined ? saidInstrument(said) : distributionInstrument({ asked, notes: notes.said })
  ) as Instrument;
}

function mustFail({ ground, answering }: ToolsJudged) {
  const { limit } = ground.setup.scenario.config.reward.mustFail;
  return mustFailInstrument({ run: (signal) => answering!.mustFail(signal), limit });
}

function learning({ ground, answering }: ToolsJudged): Instrument {
  if (answering === undefined) return unlearnable('Learners are taught by models of this process alone.');
  return toolsLearningInstrument(ground.setup, ground, answering.unaided);
}

/** What takes a model that can be put into states. */
function asked<Row extends Json>(ask: Ask<Row>): Ask {
  return durable((judged) => (judged.answering === undefined ? unmeasured(ask(judged), ONLY_LIVED_IN) : ask(judged)));
}

/** Replies are on disk before the rows that were made of them are. */
function durable<Row extends Json>(ask: Ask<Row>): Ask {
  return (judged) => {
    const instrument = ask(judged) as Instrument<Json> as Instrument;
    const { answering } = judged;
    if (answering === undefined) return instrument;
    return {
      ...instrument,
      measure: async (chunk, signal) => {
        const rows = await instrument.measure(chunk, signal);
        await answering.flush();
        return rows;
      },
    };
  };
}
