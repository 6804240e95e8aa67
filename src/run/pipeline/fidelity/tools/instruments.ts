// All instruments that measure one model of tools.

import { join } from 'node:path';
import {
  AskedQuestions,
  calibrationInstrument,
  carriedBy,
  distributionInstrument,
  type Instrument,
  kStepsInstrument,
  LivedEpisodes,
  mustFailInstrument,
  oneStepInstrument,
  rewardEndInstrument,
} from '../../../../fidelity/index.js';
import { ensureFolder } from '../../../../store/atomic-file.js';
import type { ToolsScenario } from '../../../scenario.js';
import { auditedElsewhere, mustFailReport, type ScenarioJudge } from '../../tools/gates.js';
import type { ToolsParts } from '../../tools/parts.js';
import { toolsRankInstrument } from '../ladder/tools.js';
import { toolsLearningInstrument } from '../learning/tools.js';
import type { FidelityServices, FidelitySetup } from '../setup.js';
import { castOf, liveFidelityEpisode } from './episodes.js';
import type { JudgedModel } from './models.js';
import type { ToolsTruth } from './truth.js';

export interface InstrumentParts {
  readonly setup: FidelitySetup<ToolsScenario>;
  readonly services: FidelityServices;
  readonly parts: ToolsParts;
  readonly truth: ToolsTruth;
  readonly judge: ScenarioJudge | undefined;
  /** Where what is kept of this model alone lies. */
  readonly folder: string;
}

/** @throws what making the judge's language model throws */
export function judgeOf({ scenario, seed }: FidelitySetup<ToolsScenario>, parts: ToolsParts) {
  return auditedElsewhere({ scenario, seed }, parts);
}

export function instrumentsOf(given: InstrumentParts, model: JudgedModel): Instrument[] {
  const { setup, parts, truth } = given;
  const { fidelity, reward } = setup.scenario.config;
  const { questions, sequences, truthBackend, notes } = truth;
  const { domain } = parts;
  const { seed } = setup;
  const asked = new AskedQuestions({ responder: model.unaided, questions, seed });
  const lived = livedEpisodes(given, model);
  const told = [...notes, OWN_TASK];
  const instruments: Instrument[] = [
    oneStepInstrument({ asked, repeats: fidelity.repeats, truthBackend, notes: told }),
    kStepsInstrument({
      sequences,
      carry: carriedBy(model.unaided, { domain, seed }),
      lived,
      truthBackend,
      notes: told,
    }),
    rewardEndInstrument({ lived, notes: judgeNotes(given) }),
    calibrationInstrument({ asked, notes }),
    toolsRankInstrument(setup, parts, model.unaided),
    distributionInstrument({ asked, notes }),
    mustFailInstrument({ run: (signal) => mustFail(given, model, signal), limit: reward.mustFail.limit }),
    toolsLearningInstrument(setup, parts, model.unaided),
  ];
  return instruments.filter(({ id }) => fidelity.sections.includes(id)).map((each) => durable(each, model));
}

const OWN_TASK = 'Nobody who answers sees records of the task that is asked about: they would be the answers.';

function livedEpisodes({ setup, parts, judge }: InstrumentParts, model: JudgedModel): LivedEpisodes {
  const { scenario, seed } = setup;
  const { domain, user } = parts;
  const decide = judge?.decide;
  const stage = { scenario, domain, user, seed, responder: model.unaided, judge: decide };
  const hasTruth = domain.rules !== undefined && domain.tasks.length > 0;
  return new LivedEpisodes({
    domain,
    count: hasTruth ? scenario.config.fidelity.episodes : 0,
    live: (row, signal) =>
      liveFidelityEpisode(stage, { ...castOf(domain.tasks, row, seed), row, source: 'synthetic' }, signal),
    ...(decide === undefined
      ? {}
      : {
          decide: async (ended, signal) => (await decide({ domain, ...ended, predictions: [] }, signal)).verdict,
        }),
  });
}

function judgeNotes({ judge }: InstrumentParts): string[] {
  if (judge === undefined) return [];
  return [
    `What exact checks leave open is decided by ${judge.version}, in the dream and for real; its own errors: reverie audit.`,
  ];
}

/** The verdict that `synth` reads too: kept beside the run's other files, one a model. */
async function mustFail({ setup, services, parts, folder }: InstrumentParts, model: JudgedModel, signal?: AbortSignal) {
  await ensureFolder(folder);
  const context = { ...services, scenario: setup.scenario, seed: setup.seed, out: folder };
  const given = { domain: parts.domain, responder: model.responder };
  return mustFailReport({ ...context, signal: signal ?? services.signal }, given);
}

/** Where the model number `index` keeps what is its own; the scenario's own model keeps it where a run of it does. */
export function folderOf(out: string, index: number): string {
  return index === 0 ? out : join(out, 'subjects', String(index));
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
