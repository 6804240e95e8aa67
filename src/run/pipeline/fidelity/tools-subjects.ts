// Opens models of tools under judgement, with the truth they are held against and all instruments that measure them.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../canonical-json.js';
import { horizonFindings, type Subject } from '../../../fidelity/index.js';
import type { ToolsScenario } from '../../scenario.js';
import { makeParts, type ToolsParts } from '../tools/parts.js';
import type { FidelityServices, FidelitySetup, OpenedSubjects } from './setup.js';
import { folderOf, type InstrumentParts, instrumentsOf, judgeOf } from './tools-instruments.js';
import { type JudgedModel, judgedModels } from './tools-models.js';
import { recordedTruth } from './tools-recorded.js';
import { rulesTruth } from './tools-rules-truth.js';
import type { ToolsTruth } from './tools-truth.js';

/**
 * Language models are asked from this thread alone.
 * @throws SCENARIO_INVALID, LOG_INVALID, FIDELITY_HELD_OUT_SEEN, MODEL_CONFIG_INVALID, MODEL_BACKENDS_MISSING, and what
 *   the domain's and models' parts throw
 */
export async function openToolsSubjects(
  setup: FidelitySetup<ToolsScenario>,
  services: FidelityServices,
): Promise<OpenedSubjects> {
  const { scenario, seed, out, inputs } = setup;
  const parts = await makeParts({ scenario, out, log: services.log });
  const models: JudgedModel[] = [];
  const close = async () => {
    for (const model of models) await model.close();
    await parts.close();
  };
  try {
    // What is held out was recorded, whatever the scenario holds dreams against otherwise.
    const isRecorded = inputs.heldOut !== undefined || scenario.config.fidelity.truth === 'recorded';
    const truth = isRecorded
      ? await recordedTruth(scenario, parts.domain, seed, inputs.heldOut)
      : await rulesTruth(scenario, parts.domain, seed);
    models.push(...(await judgedModels(scenario, parts, out, services.log)));
    const judge = await judgeOf(setup, parts);
    const subjects = models.map((model, i) =>
      subjectOf({ setup, services, parts, truth, judge, folder: folderOf(out, i) }, model),
    );
    return { truth: truth.report, identity: identityOf(scenario, parts, truth, seed), subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function subjectOf(given: InstrumentParts, model: JudgedModel): Subject {
  const { fidelity, synth } = given.setup.scenario.config;
  const { maxSteps } = synth;
  const { tolerance, sections } = fidelity;
  const gamma = 1 - 1 / Math.max(2, maxSteps);
  return {
    name: model.name,
    kind: 'router',
    version: model.responder.version,
    instruments: instrumentsOf(given, model),
    ...(sections.includes('horizon')
      ? { derive: (findings) => horizonFindings(findings, { family: 'tools', tolerance, gamma, maxSteps }) }
      : {}),
    close: async () => {},
  };
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
