// Opens models of tools under judgement, with the truth they are held against and all instruments that measure them.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { canonicalJson } from '../../../../canonical-json.js';
import { reverieError } from '../../../../errors.js';
import { horizonFindings, type Instrument, type Subject } from '../../../../fidelity/index.js';
import type { ToolsScenario } from '../../../scenario.js';
import { makeParts, type ToolsParts } from '../../tools/parts.js';
import type { FidelityServices, FidelitySetup, OpenedSubjects } from '../setup.js';
import { isUrl } from '../vector/served.js';
import { type ComparedModel, openCompared } from './compared.js';
import { folderOf, type InstrumentParts, instrumentsOf, judgeOf } from './instruments.js';
import { type JudgedModel, judgedModels } from './models.js';
import { recordedTruth } from './recorded-truth.js';
import { rulesTruth } from './rules-truth.js';
import { openServedTools, type ServedTools } from './served/environment.js';
import { servedInstruments } from './served/instruments.js';
import type { ToolsTruth } from './truth.js';

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
      ? { derive: (findings) => horizonFindings(findings, { family: 'tools', tolerance, gamma, maxSteps }) }
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
