// What is asked of models of tools.

import type { Json } from '../../core/canonical-json.js';
import { toolsCalibration } from '../calibration.js';
import type { Instrument } from '../measure.js';
import { toolsRewardEnd } from '../reward-end.js';
import { unmeasured } from '../section.js';
import type { Question } from '../setup.js';
import type { ToolsJudged } from './judged.js';
import { kStepsInstrument } from './k-steps.js';
import { mustFailInstrument } from './must-fail.js';
import { oneStepInstrument } from './one-step.js';
import { toolsRankInstrument } from './rank.js';

const ONLY_LIVED_IN = 'The state is on the server: it cannot be put into one to be asked about.';

export const TOOLS_QUESTIONS: readonly Question<ToolsJudged>[] = [
  { id: 'one-step', ask: asked(oneStepInstrument) },
  { id: 'k-steps', ask: durable(kStepsInstrument) },
  { id: 'reward-end', ask: durable(toolsRewardEnd) },
  { id: 'calibration', ask: asked(toolsCalibration) },
  { id: 'rank', ask: durable(({ ground, dream }) => toolsRankInstrument(ground.setup, ground, dream)) },
  { id: 'must-fail', ask: asked(mustFail) },
];

type Ask<Row extends Json = Json> = (judged: ToolsJudged) => Instrument<Row>;

function mustFail({ ground, answering }: ToolsJudged) {
  const { limit } = ground.setup.scenario.config.reward.mustFail;
  return mustFailInstrument({ run: (signal) => answering!.mustFail(signal), limit });
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
