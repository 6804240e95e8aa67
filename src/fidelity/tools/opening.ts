// Opens what dreams of tools are held against, and puts models together with it.

import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { type Panel, panelOf } from '../../core/evaluation-set.js';
import { Rng } from '../../core/rng.js';
import { service } from '../../core/services.js';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { elsewhere } from '../../env/tools/rules-responder.js';
import type { UserSimulator } from '../../env/tools/tools-family.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { horizonFindings, stepErrorRule } from '../horizon.js';
import type { Subject } from '../measure.js';
import {
  type FidelityServices,
  type FidelitySetup,
  instrumentsOf,
  type OpenedSubjects,
  type Question,
} from '../setup.js';
import { realEpisodes } from './episodes.js';
import { type AnsweringModel, answeringJudged, servedJudged, type ToolsGround, type ToolsJudged } from './judged.js';
import { TOOLS_QUESTIONS } from './kind.js';
import { carryOutForReal, type TrueSequence } from './open-loop.js';
import { drawQuestions, shuffled } from './question.js';
import { fewer, LEAST_CALLS, recordedTruth, type ToolsTruth } from './recorded-truth.js';
import type { ServedTools } from './served.js';
import { serverTruth } from './server-truth.js';

/** What is judged: a model of this process, or a served environment. */
export type ToolsSubject = { readonly model: AnsweringModel } | { readonly served: ServedTools };

export interface ToolsJudging {
  readonly setup: FidelitySetup<ToolsScenario>;
  readonly domain: ToolsDomain;
  readonly user: UserSimulator;
  readonly judge: ToolsGround['judge'];
  /** The first is the one that gates look at. */
  readonly judged: readonly ToolsSubject[];
  /** Of the models under judgement: none may have seen what is held out. */
  readonly answering: readonly ToolsScenario[];
  readonly services?: Pick<FidelityServices, 'signal' | 'progress'>;
}

/** @throws SCENARIO_INVALID, LOG_INVALID, INPUT_INVALID, the signal's reason */
export async function toolsSubjects(judging: ToolsJudging): Promise<Omit<OpenedSubjects, 'close'>> {
  const { setup, domain, user, judge, judged } = judging;
  const truth = await truthOf(judging);
  const ground: ToolsGround = { setup, domain, user, truth, judge };
  const questions = isScreenDomain(domain)
    ? await service<readonly Question<ToolsJudged>[]>('screen-fidelity')
    : TOOLS_QUESTIONS;
  const subjects = judged.map((one) => subjectOf(ground, questions, one));
  return { truth: truth.report, identity: identityOf(ground), panel: panelFor(ground), subjects };
}

function truthOf({ setup, domain, answering, services }: ToolsJudging): Promise<ToolsTruth> {
  const { scenario, seed, inputs } = setup;
  const { heldOut } = inputs;
  // What is held out was recorded, whatever the scenario holds dreams against otherwise.
  const isRecorded = heldOut !== undefined || scenario.config.fidelity.truth === 'recorded';
  const real = elsewhere(domain);
  if (!isRecorded && real !== undefined) return serverTruth(scenario, domain, real, seed);
  if (!isRecorded) return rulesTruth({ scenario, domain, seed, ...services });
  return recordedTruth(scenario, domain, seed, heldOut === undefined ? undefined : { path: heldOut, from: answering });
}

function subjectOf(ground: ToolsGround, questions: readonly Question<ToolsJudged>[], judged: ToolsSubject): Subject {
  const { tolerance, sections } = ground.setup.scenario.config.fidelity;
  const [about, as] =
    'served' in judged
      ? [
          { name: judged.served.name, kind: 'served', version: judged.served.version },
          servedJudged(ground, judged.served),
        ]
      : [
          { name: judged.model.name, kind: 'router', version: judged.model.responder.version },
          answeringJudged(ground, judged.model),
        ];
  return {
    ...about,
    instruments: instrumentsOf(questions, as, sections),
    ...(sections.includes('horizon')
      ? { derive: (findings) => horizonFindings(findings, stepErrorRule, tolerance) }
      : {}),
  };
}

function identityOf({ setup, domain, user, truth }: ToolsGround): string {
  const { scenario, seed } = setup;
  const decided = canonicalJson({
    format: 'tools fidelity 1',
    hash: scenario.hash,
    domain: domain.version,
    truth: truth.report.version,
    user: user.version,
    seed,
  });
  return createHash('sha256').update(decided).digest('hex').slice(0, 16);
}

/** The agents whose calls are asked about, and their number, are part of the scenario's section. */
function panelFor({ setup: { scenario, seed }, domain, user, truth }: ToolsGround): Panel {
  const { fidelity, synth, agent } = scenario.config;
  return panelOf({
    environment: { domain: domain.version, truth: truth.report.version },
    tasks: domain.tasks.map(({ id }) => id),
    seeds: [seed],
    policies: { user: user.version },
    settings: { fidelity, agent, maxSteps: synth.maxSteps } as unknown as Json,
  });
}

// The domain's exact rules as truth: calls of agents that err in real episodes, as many as are wanted.

interface RulesAsked extends Partial<Pick<FidelityServices, 'signal' | 'progress'>> {
  readonly scenario: ToolsScenario;
  readonly domain: ToolsDomain;
  readonly seed: number;
}

/** @throws SCENARIO_INVALID where the domain has no rules, the signal's reason */
async function rulesTruth(asked: RulesAsked): Promise<ToolsTruth> {
  const { scenario, domain, seed, progress } = asked;
  const { config } = scenario;
  const { rules } = domain;
  if (rules === undefined) {
    const problem =
      '"fidelity.truth" is "rules", but the domain has none. Give recorded episodes: fidelity.truth=recorded.';
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  const records: EpisodeRecord[] = [];
  const { questions: count, episodes } = config.fidelity;
  const phase = progress?.phase('ask the real environment', count, 'calls');
  let asks = 0;
  const callsOf = async (round: number) => {
    const lived = await realEpisodes(asked, round, ({ record, calls }) => {
      records.push(record);
      asks += calls.length;
      phase?.set(Math.min(asks, count));
    });
    return lived.flatMap(({ calls }) => calls);
  };
  const questions = await drawQuestions(domain, callsOf, { count, seed });
  phase?.end();
  const sequences = await sequencesOf(asked, records, episodes);
  return {
    questions,
    sequences,
    truthBackend: 'rules',
    report: {
      kind: 'environment',
      description: `${domain.id}: calls of agents that err, answered by the domain's exact rules`,
      version: domain.version,
      transitions: questions.length,
      episodes: records.length,
    },
    notes: [...fewer(questions.length, config.fidelity.questions), ...unknownTools(domain)],
  };
}

async function sequencesOf(
  { domain, seed, signal }: RulesAsked,
  records: readonly EpisodeRecord[],
  count: number,
): Promise<TrueSequence[]> {
  const sequences: TrueSequence[] = [];
  for (const { id, task: name, messages } of shuffled(records, Rng.fromSeed(seed).split('sequences'))) {
    if (sequences.length === count) break;
    const task = domain.tasks.find((each) => each.id === name)!;
    const { steps, isWhole } = await carryOutForReal(domain, task, messages, signal);
    if (!isWhole || steps.length < LEAST_CALLS) continue;
    const known = steps.map(({ prediction: { observation, isError }, state }) => ({ observation, isError, state }));
    sequences.push({ id, task, messages, steps: known });
  }
  return sequences;
}

function unknownTools({ tools, rules }: ToolsDomain): string[] {
  const unknown = tools.filter(({ name }) => !rules!.tools.has(name)).map(({ name }) => name);
  return unknown.length === 0 ? [] : [`Not asked, as no rules know what they truly do: ${unknown.join(', ')}.`];
}
