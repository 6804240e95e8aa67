// Opens models of tools under judgement, with the truth they are held against and all instruments that measure them.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../canonical-json.js';
import { AskedQuestions, type Instrument, oneStepInstrument, type Subject } from '../../../fidelity/index.js';
import type { ToolsScenario } from '../../scenario.js';
import { makeParts, type ToolsParts } from '../tools/parts.js';
import type { FidelityServices, FidelitySetup, OpenedSubjects } from './setup.js';
import { type JudgedModel, judgedModels } from './tools-models.js';
import { type ToolsTruth, toolsTruth } from './tools-truth.js';

/**
 * Language models are asked from this thread alone.
 * @throws SCENARIO_INVALID, MODEL_CONFIG_INVALID, MODEL_BACKENDS_MISSING, and what the domain's and models' parts throw
 */
export async function openToolsSubjects(
  setup: FidelitySetup<ToolsScenario>,
  services: FidelityServices,
): Promise<OpenedSubjects> {
  const { scenario, seed, out } = setup;
  const parts = await makeParts({ scenario, out, log: services.log });
  const models: JudgedModel[] = [];
  const close = async () => {
    for (const model of models) await model.close();
    await parts.close();
  };
  try {
    const truth = await toolsTruth(scenario, parts.domain, seed);
    models.push(...(await judgedModels(scenario, parts, out, services.log)));
    const subjects = models.map((model) => subjectOf(setup, parts, truth, model));
    return { truth: truth.report, identity: identityOf(scenario, parts, seed), subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function subjectOf(
  setup: FidelitySetup<ToolsScenario>,
  parts: ToolsParts,
  truth: ToolsTruth,
  model: JudgedModel,
): Subject {
  const { fidelity } = setup.scenario.config;
  const instruments = instrumentsOf(setup, parts, truth, model)
    .filter(({ id }) => fidelity.sections.includes(id))
    .map((instrument) => durable(instrument, model));
  return {
    name: model.name,
    kind: 'router',
    version: model.responder.version,
    instruments,
    close: async () => {},
  };
}

function instrumentsOf(
  { scenario, seed }: FidelitySetup<ToolsScenario>,
  _parts: ToolsParts,
  { questions, notes }: ToolsTruth,
  { unaided }: JudgedModel,
): Instrument[] {
  const { repeats } = scenario.config.fidelity;
  const asked = new AskedQuestions({ responder: unaided, questions, seed });
  return [oneStepInstrument({ asked, repeats, notes })];
}

/** Replies are on disk before what was made of them is: rows that are there are never asked for again. */
function durable(instrument: Instrument, { cast }: JudgedModel): Instrument {
  return {
    ...instrument,
    measure: async (chunk, signal) => {
      const rows = await instrument.measure(chunk, signal);
      await cast.flush();
      return rows;
    },
  };
}

function identityOf({ hash }: ToolsScenario, { domain, user }: ToolsParts, seed: number): string {
  const decided = canonicalJson({ format: 'tools fidelity 1', hash, domain: domain.version, user: user.version, seed });
  return createHash('sha256').update(decided).digest('hex').slice(0, 16);
}
