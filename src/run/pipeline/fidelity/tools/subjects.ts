// Opens models of tools under judgement, with the truth they are held against and all instruments that measure them.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { canonicalJson } from '../../../../core/canonical-json.js';
import { reverieError } from '../../../../core/errors.js';
import { Rng } from '../../../../core/rng.js';
import type { ToolsDomain } from '../../../../env/index.js';
import {
  carryOutForReal,
  drawQuestions,
  horizonFindings,
  type Instrument,
  type Subject,
  shuffled,
  stepErrorRule,
  type TrueSequence,
} from '../../../../fidelity/index.js';
import { isToolsScenario } from '../../../../kinds/index.js';
import type { EpisodeRecord } from '../../../../replay/index.js';
import { loadAnyScenario, type ToolsScenario } from '../../../scenario.js';
import { makeParts, type ToolsParts } from '../../tools/parts.js';
import type { FidelityServices, FidelitySetup, OpenedSubjects } from '../setup.js';
import { isUrl } from '../vector/served.js';
import { realEpisodes } from './episodes.js';
import { folderOf, type InstrumentParts, instrumentsOf, judgeOf } from './instruments.js';
import { type JudgedModel, judgedModels, ownModel } from './models.js';
import { recordedTruth } from './recorded-truth.js';
import { openServedTools, type ServedTools } from './served/environment.js';
import { servedInstruments } from './served/instruments.js';
import { fewer, LEAST_CALLS, type ToolsTruth } from './truth.js';

/** What is judged: a model of this process, or a served environment. */
type Judged = { readonly model: JudgedModel | ComparedModel } | { readonly served: ServedTools };

/**
 * Language models are asked from this thread alone.
 * @throws SCENARIO_INVALID, LOG_INVALID, FIDELITY_HELD_OUT_SEEN, FIDELITY_SUBJECT_UNFIT, FLAG_INVALID,
 *   MODEL_CONFIG_INVALID, MODEL_BACKENDS_MISSING, and what servers and the domain's and models' parts throw
 */
export async function openToolsSubjects(
  setup: FidelitySetup<ToolsScenario>,
  services: FidelityServices,
): Promise<OpenedSubjects> {
  const { scenario, seed, out } = setup;
  requireOwnInputs(setup);
  const parts = await makeParts({ scenario, out, log: services.log });
  const judged: Judged[] = [];
  const close = async () => {
    for (const one of judged) await ('served' in one ? one.served : one.model).close();
    await parts.close();
  };
  try {
    for await (const one of openJudged(setup, services, parts)) judged.push(one);
    const truth = await truthOf(setup, parts, judged);
    const judge = await judgeOf(setup, parts);
    const given = { setup, services, parts, truth, judge };
    const subjects = judged.map((one, i) => subjectOf({ ...given, folder: folderOf(out, i) }, one));
    return { truth: truth.report, identity: identityOf(scenario, parts, truth, seed), subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Inputs of other families say nothing here, and nothing is left out in silence. @throws FLAG_INVALID */
function requireOwnInputs({ inputs, scenario }: FidelitySetup<ToolsScenario>): void {
  for (const name of ['model', 'data', 'checkpoint'] as const) {
    const value = inputs[name];
    if (value === undefined) continue;
    const expected = `nothing for "${scenario.config.name}": models of tools are named by fidelity.subjects, --compare or --url, and records by --held-out`;
    throw reverieError('FLAG_INVALID', { flag: `--${name}`, value, expected });
  }
}

/** The served one in place of the scenario's own, which is judged otherwise; then those that it names, and those to compare. */
async function* openJudged(
  { scenario, inputs, out, seed }: FidelitySetup<ToolsScenario>,
  { log }: FidelityServices,
  parts: ToolsParts,
): AsyncGenerator<Judged> {
  const { domain } = parts;
  const { name } = scenario.config;
  const served = async (url: string) => ({ served: await openServedTools(url, name, domain, seed) });
  if (inputs.url !== undefined) yield await served(inputs.url);
  for await (const model of judgedModels(scenario, parts, { out, log, isOwnJudged: inputs.url === undefined }))
    yield { model };
  for (const [i, given] of (inputs.compare ?? []).entries()) {
    if (isUrl(given)) yield await served(given);
    else {
      const [folder, cache] = [join(out, 'compared', String(i)), join(out, 'cache')];
      yield { model: await openCompared(given, parts, { folder, cache, log }) };
    }
  }
}

function truthOf(
  { scenario, seed, inputs }: FidelitySetup<ToolsScenario>,
  { domain }: ToolsParts,
  judged: readonly Judged[],
): Promise<ToolsTruth> {
  const { heldOut } = inputs;
  // What is held out was recorded, whatever the scenario holds dreams against otherwise.
  const isRecorded = heldOut !== undefined || scenario.config.fidelity.truth === 'recorded';
  if (!isRecorded) return rulesTruth(scenario, domain, seed);
  const compared = judged.flatMap((one) => ('model' in one && 'scenario' in one.model ? [one.model.scenario] : []));
  const held = heldOut === undefined ? undefined : { path: heldOut, from: [scenario, ...compared] };
  return recordedTruth(scenario, domain, seed, held);
}

function subjectOf(given: InstrumentParts, judged: Judged): Subject {
  const { fidelity, synth } = given.setup.scenario.config;
  const { maxSteps } = synth;
  const { tolerance, sections } = fidelity;
  const gamma = 1 - 1 / Math.max(2, maxSteps);
  return {
    ...identified(given, judged),
    ...(sections.includes('horizon')
      ? { derive: (findings) => horizonFindings(findings, { rule: stepErrorRule, tolerance, gamma, maxSteps }) }
      : {}),
    close: async () => {},
  };
}

function identified(
  given: InstrumentParts,
  judged: Judged,
): Pick<Subject, 'name' | 'kind' | 'version'> & { readonly instruments: Instrument[] } {
  if ('served' in judged) {
    const { name, version } = judged.served;
    return { name, kind: 'served', version, instruments: servedInstruments(given, judged.served) };
  }
  const { name, responder } = judged.model;
  return { name, kind: 'router', version: responder.version, instruments: instrumentsOf(given, judged.model) };
}

function identityOf(
  { hash }: ToolsScenario,
  { domain, user }: ToolsParts,
  { report }: ToolsTruth,
  seed: number,
): string {
  const format = 'tools fidelity 1';
  const decided = canonicalJson({
    format,
    hash,
    domain: domain.version,
    truth: report.version,
    user: user.version,
    seed,
  });
  return createHash('sha256').update(decided).digest('hex').slice(0, 16);
}

// The model of another scenario of the same domain, judged beside the scenario's own.

interface ComparedOptions {
  /** Where its records are kept. */
  readonly folder: string;
  /** Where replies of its language models are kept, unless it says so itself. */
  readonly cache: string;
  readonly log: (line: string) => void;
}

interface ComparedModel extends JudgedModel {
  readonly scenario: ToolsScenario;
}

/**
 * @param given  file or folder of a scenario
 * @throws FIDELITY_SUBJECT_UNFIT where it is none of this domain, and what `loadAnyScenario` and `makeParts` throw
 */
async function openCompared(
  given: string,
  { domain }: ToolsParts,
  { folder, cache, log }: ComparedOptions,
): Promise<ComparedModel> {
  const scenario = await loadAnyScenario(given);
  const unfit = (problem: string) => reverieError('FIDELITY_SUBJECT_UNFIT', { given, problem });
  if (!isToolsScenario(scenario)) throw unfit(`it is a scenario of family ${scenario.family}, and not of tools`);
  const config = { ...scenario.config, cache: scenario.config.cache ?? cache };
  const own = { ...scenario, config };
  const parts = await makeParts({ scenario: own, out: folder, log });
  try {
    if (parts.domain.version !== domain.version)
      throw unfit(`its domain is "${parts.domain.id}", and not "${domain.id}" as it is here`);
    const model = await ownModel(own, parts, folder);
    return {
      ...model,
      scenario: own,
      close: async () => {
        await model.close();
        await parts.close();
      },
    };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

// The domain's exact rules as truth: calls of agents that err in real episodes, as many as are wanted.

/** @throws SCENARIO_INVALID where the domain has no rules */
async function rulesTruth(scenario: ToolsScenario, domain: ToolsDomain, seed: number): Promise<ToolsTruth> {
  const { config } = scenario;
  const { rules } = domain;
  if (rules === undefined) {
    const problem =
      '"fidelity.truth" is "rules", but the domain has none. Give recorded episodes: fidelity.truth=recorded.';
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  const records: EpisodeRecord[] = [];
  const callsOf = async (round: number) => {
    const lived = await realEpisodes({ scenario, domain, seed }, round);
    records.push(...lived.map(({ record }) => record));
    return lived.flatMap(({ queries }) => queries);
  };
  const questions = await drawQuestions(domain, callsOf, { count: config.fidelity.questions, seed });
  const sequences = await sequencesOf(domain, records, config.fidelity.episodes, seed);
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

async function sequencesOf(domain: ToolsDomain, records: readonly EpisodeRecord[], count: number, seed: number) {
  const sequences: TrueSequence[] = [];
  for (const { id, task: name, messages } of shuffled(records, Rng.fromSeed(seed).split('sequences'))) {
    if (sequences.length === count) break;
    const task = domain.tasks.find((each) => each.id === name)!;
    const { steps, isWhole } = await carryOutForReal(domain, task, messages);
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
