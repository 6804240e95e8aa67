// What is asked of models of tools, and models put together with what they are held against.

import { contentHash, type Json } from '../../core/canonical-json.js';
import { evaluationSetOf } from '../../core/evaluation-set.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import { toolsCalibration } from '../calibration.js';
import { horizonFindings, stepErrorRule } from '../horizon.js';
import { toolsKSteps } from '../k-steps.js';
import { toolsOneStep } from '../one-step.js';
import { toolsRewardEnd } from '../reward-end.js';
import {
  type FidelityServices,
  type Instrument,
  instrumentsOf,
  type OpenedSubjects,
  type Question,
  type Subject,
} from '../section.js';
import { type AnsweringModel, type ToolsGround, type ToolsJudged, toolsJudged } from './judged.js';
import { toolsMustFail } from './must-fail.js';
import { toolsNoise } from './noise.js';
import { toolsRank } from './rank.js';
import { truthOf } from './truth.js';

const TOOLS_QUESTIONS: readonly Question<ToolsJudged>[] = [
  { id: 'one-step', ask: durable(toolsOneStep) },
  { id: 'k-steps', ask: durable(toolsKSteps) },
  { id: 'reward-end', ask: durable(toolsRewardEnd) },
  { id: 'calibration', ask: durable(toolsCalibration) },
  { id: 'rank', ask: durable(({ ground, run }) => toolsRank(ground, run)) },
  { id: 'must-fail', ask: durable(toolsMustFail) },
  { id: 'noise', ask: durable(({ ground, answering }) => toolsNoise({ ...ground, responder: answering.unaided })) },
];

/** Replies are on disk before the rows that were made of them are. */
function durable<Row extends Json>(ask: (judged: ToolsJudged) => Instrument<Row>): Question<ToolsJudged>['ask'] {
  return (judged) => {
    const instrument = ask(judged);
    return {
      ...(instrument as Instrument<Json> as Instrument),
      measure: async (chunk, signal) => {
        const rows = await instrument.measure(chunk, signal);
        await judged.answering.flush();
        return rows;
      },
    };
  };
}

interface ToolsJudging extends Omit<ToolsGround, 'truth'> {
  /** The first is the one that gates look at. */
  readonly models: readonly AnsweringModel[];
  /** Scenarios of the models: none may have seen what is held out. */
  readonly answering: readonly ToolsScenario[];
  readonly services?: Pick<FidelityServices, 'signal' | 'progress'>;
}

/** @throws SCENARIO_INVALID, LOG_INVALID, INPUT_INVALID, the signal's reason */
export async function toolsSubjects(judging: ToolsJudging): Promise<Omit<OpenedSubjects, 'close'>> {
  const { setup, domain, user, agent, judge, models, answering, services } = judging;
  const { scenario, seed, inputs } = setup;
  const truth = await truthOf({ scenario, domain, seed, answering, heldOut: inputs.heldOut, ...services });
  const ground: ToolsGround = { setup, domain, user, agent, truth, judge };
  const { fidelity, synth } = scenario.config;
  const { tolerance, sections } = fidelity;
  const subjects = models.map((model): Subject => {
    const { name, responder } = model;
    return {
      ...{ name, kind: 'router', version: responder.version },
      instruments: instrumentsOf(TOOLS_QUESTIONS, toolsJudged(ground, model), sections),
      derive: (findings) => (sections.includes('horizon') ? horizonFindings(findings, stepErrorRule, tolerance) : []),
    };
  });
  const decided = contentHash({
    format: 'tools fidelity 2',
    hash: scenario.hash,
    domain: domain.version,
    truth: truth.report.version,
    user: user.version,
    seed,
  });
  return {
    truth: truth.report,
    identity: decided.slice(0, 16),
    // The agents whose calls are asked about, and their number, are part of the scenario's section.
    evaluationSet: evaluationSetOf({
      environment: { domain: domain.version, truth: truth.report.version },
      tasks: domain.tasks.map(({ id }) => id),
      seeds: [seed],
      policies: { user: user.version },
      settings: { fidelity, agent: scenario.config.agent, maxSteps: synth.maxSteps } as unknown as Json,
    }),
    subjects,
  };
}
