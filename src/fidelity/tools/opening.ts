// What is asked of models of tools, and models put together with what they are held against.

import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../../core/canonical-json.js';
import { panelOf } from '../../core/evaluation-set.js';
import { service } from '../../core/services.js';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import { toolsCalibration } from '../calibration.js';
import { horizonFindings, stepErrorRule } from '../horizon.js';
import { toolsRewardEnd } from '../reward-end.js';
import {
  type FidelityServices,
  type Instrument,
  instrumentsOf,
  type OpenedSubjects,
  type Question,
  type Subject,
  unmeasured,
} from '../section.js';
import { type AnsweringModel, answeringJudged, servedJudged, type ToolsGround, type ToolsJudged } from './judged.js';
import { toolsKSteps } from './k-steps.js';
import { toolsMustFail } from './must-fail.js';
import { toolsOneStep } from './one-step.js';
import { toolsRank } from './rank.js';
import type { ServedTools } from './served.js';
import { truthOf } from './truth.js';

const ON_SERVER = 'The state is on the server: it cannot be put into one to be asked about.';

export const TOOLS_QUESTIONS: readonly Question<ToolsJudged>[] = [
  { id: 'one-step', ask: asked(toolsOneStep) },
  { id: 'k-steps', ask: durable(toolsKSteps) },
  { id: 'reward-end', ask: durable(toolsRewardEnd) },
  { id: 'calibration', ask: asked(toolsCalibration) },
  { id: 'rank', ask: durable(({ ground, run }) => toolsRank(ground, run)) },
  { id: 'must-fail', ask: asked(toolsMustFail) },
];

type Ask<Row extends Json = Json> = (judged: ToolsJudged) => Instrument<Row>;

/** What takes a model that can be put into states. */
export function asked<Row extends Json>(ask: Ask<Row>): Ask {
  return durable((judged) => (judged.answering === undefined ? unmeasured(ask(judged), ON_SERVER) : ask(judged)));
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

export interface ToolsJudging extends Omit<ToolsGround, 'truth'> {
  /** Models of this process and served environments. The first is the one that gates look at. */
  readonly judged: readonly ({ readonly model: AnsweringModel } | { readonly served: ServedTools })[];
  /** Scenarios of the models: none may have seen what is held out. */
  readonly answering: readonly ToolsScenario[];
  readonly services?: Pick<FidelityServices, 'signal' | 'progress'>;
}

/** @throws SCENARIO_INVALID, LOG_INVALID, INPUT_INVALID, the signal's reason */
export async function toolsSubjects(judging: ToolsJudging): Promise<Omit<OpenedSubjects, 'close'>> {
  const { setup, domain, user, judge, judged, answering, services } = judging;
  const { scenario, seed, inputs } = setup;
  const truth = await truthOf({ scenario, domain, seed, answering, heldOut: inputs.heldOut, ...services });
  const ground: ToolsGround = { setup, domain, user, truth, judge };
  const questions = isScreenDomain(domain)
    ? await service<readonly Question<ToolsJudged>[]>('screen-fidelity')
    : TOOLS_QUESTIONS;
  const { fidelity, synth, agent } = scenario.config;
  const { tolerance, sections } = fidelity;
  const subjects = judged.map((one): Subject => {
    const about =
      'served' in one
        ? { name: one.served.name, kind: 'served', version: one.served.version }
        : { name: one.model.name, kind: 'router', version: one.model.responder.version };
    const as = 'served' in one ? servedJudged(ground, one.served) : answeringJudged(ground, one.model);
    return {
      ...about,
      instruments: instrumentsOf(questions, as, sections),
      derive: (findings) => (sections.includes('horizon') ? horizonFindings(findings, stepErrorRule, tolerance) : []),
    };
  });
  const decided = canonicalJson({
    format: 'tools fidelity 2',
    hash: scenario.hash,
    domain: domain.version,
    truth: truth.report.version,
    user: user.version,
    seed,
  });
  return {
    truth: truth.report,
    identity: createHash('sha256').update(decided).digest('hex').slice(0, 16),
    // The agents whose calls are asked about, and their number, are part of the scenario's section.
    panel: panelOf({
      environment: { domain: domain.version, truth: truth.report.version },
      tasks: domain.tasks.map(({ id }) => id),
      seeds: [seed],
      policies: { user: user.version },
      settings: { fidelity, agent, maxSteps: synth.maxSteps } as unknown as Json,
    }),
    subjects,
  };
}
