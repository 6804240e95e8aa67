// The dream of a training in a world of text: real episodes are gathered, those backends that can are made of them, and the router
// of the scenario's backends answers. A share of the episodes is held out, and says how far the dream is from the real.

import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { applyOperations } from '../../../env/state/operations.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { initialStateOf } from '../../../env/tools/situation.js';
import type { LineEnvironment } from '../../../env/tools/text-environment.js';
import type { Responder, ToolsPolicy } from '../../../env/tools/tools-family.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { TextPolicy } from '../../../rl/text/text-policy.js';
import { fitterOf } from '../../../synth/train-backend.js';
import { isWon, type PlayedText, TextPolicyAgent } from '../../../training/text-play.js';
import type { Gathered, TextDream } from '../../../training/text-training.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { backendSettings } from '../../../worldmodel/tools/router.js';
import {
  addRowCounts,
  difference,
  type ShadowCounts,
  ShadowEstimates,
  type ShadowRow,
  trustHorizon,
} from '../../../worldmodel/tools/shadow.js';
import { parseToolsModelConfig } from '../../../worldmodel/tools/tools-model-schema.js';
import type { JobContext } from '../../job.js';
import { layered } from '../../overrides.js';
import type { ToolsScenario } from '../../scenario.js';
import {
  gatherRecords,
  keepDemonstrations,
  keptDemonstrations,
  keptRecords,
  realSteps,
  splitRecords,
} from './gathered-records.js';
import { bareAgent, makeResponder, type ToolsParts } from './parts.js';
import { textViewOf } from './text-lanes.js';

export interface RecordedDreamParts {
  readonly context: JobContext<ToolsScenario>;
  readonly parts: ToolsParts;
  readonly tasks: readonly ToolsTask[];
  readonly policy: TextPolicy;
  /** Times that an earlier process of the run gathered. */
  readonly gathered: number;
  readonly lanes: (responder: Responder) => LineEnvironment[];
}

type Model = ToolsScenarioConfig['model'];

export class RecordedDream implements TextDream {
  /** Lived to be imitated; the dream is made of all of them. */
  private demonstrations: EpisodeRecord[] | undefined;
  private readonly records: EpisodeRecord[] = [];
  private now: Promise<readonly LineEnvironment[]> | undefined;

  constructor(private readonly given: RecordedDreamParts) {}

  environments(): Promise<readonly LineEnvironment[]> {
    this.now ??= this.reopened();
    return this.now;
  }

  async remember(shown: readonly PlayedText[]): Promise<void> {
    this.demonstrations = await keepDemonstrations(this.given, shown);
  }

  async gather(time: number): Promise<Gathered> {
    const { context, parts, tasks, gathered } = this.given;
    if (this.records.length === 0) await this.reread(Math.min(time, gathered));
    const { episodes } = this.section;
    const agent = await this.agent(time);
    const records = await gatherRecords({ context, parts, agent, tasks, episodes, time });
    this.records.push(...records);
    const { model, made } = await this.fit(time);
    const responder = await this.responder(model);
    this.now = Promise.resolve(this.given.lanes(responder));
    return {
      episodes: records.length,
      steps: records.reduce((sum, { steps }) => sum + steps.length, 0),
      wins: records.filter(({ return: reward }) => isWon({ reward })).length,
      agent: agent.version,
      made,
      ...(await this.compare(responder)),
    };
  }

  private get section() {
    return this.given.context.scenario.config.train.gather!;
  }

  /** What an earlier process left: the same records make the same dream. */
  private async reopened(): Promise<readonly LineEnvironment[]> {
    const { gathered, parts, lanes, context } = this.given;
    if (gathered === 0) return lanes(await this.responder(context.scenario.config.model));
    await this.reread(gathered);
    const { model } = await this.fit(gathered - 1);
    return lanes(await makeRouterOf(model, context, parts));
  }

  private async reread(times: number): Promise<void> {
    for (let time = 0; time < times; time++) this.records.push(...(await keptRecords(this.given.context.out, time)));
  }

  private async agent(time: number): Promise<ToolsPolicy> {
    const { parts, policy } = this.given;
    if (time > 0) return new TextPolicyAgent(policy, textViewOf(parts.domain));
    return bareAgent(this.section, parts.cast, parts.domain);
  }

  /** Every backend that can be made of records, made of those that are not held out. */
  private async fit(time: number): Promise<{ model: Model; made: string[] }> {
    const { context, parts } = this.given;
    const { domain } = parts;
    this.demonstrations ??= await keptDemonstrations(context.out);
    const episodes = [...this.demonstrations, ...this.split().used];
    const steps = realSteps(domain, episodes);
    await parts.experience.add(steps);
    const made: string[] = [];
    let { model } = context.scenario.config;
    for (const name of model.backends) {
      const fitBackend = await fitterOf(name);
      if (fitBackend === undefined) continue;
      const folder = join(context.out, 'dream', String(time).padStart(3, '0'), name);
      await ensureFolder(folder);
      const settings = backendSettings(routerBackends.get(name), model);
      const rng = Rng.fromSeed(context.seed).split('fit', name, time);
      const { signal } = context;
      const phase = (label: string, total: number | null, unit?: string) => context.progress.phase(label, total, unit);
      const fitted = await fitBackend({ domain, episodes, steps, settings, folder, rng, signal, phase });
      made.push(`${name}: ${fitted.about}${fitted.isReady ? '' : ' (not good enough yet, and left out)'}`);
      const backends = model.backends.filter((one) => fitted.isReady || one !== name);
      if (backends.length === 0)
        throw reverieError('SCENARIO_UNFIT', {
          problem: `No backend of the world model can answer calls of domain "${domain.id}": ${made.join('; ')}.`,
          hint: 'Give the domain rules.js, records to replay or a language model (section llm), and name it in model.backends.',
        });
      model = parseToolsModelConfig(layered({ ...model, backends }, fitted.isReady ? { [name]: fitted.settings } : {}));
    }
    return { model, made };
  }

  private responder(model: Model): Promise<Responder> {
    return makeRouterOf(model, this.given.context, this.given.parts);
  }

  private split() {
    return splitRecords(this.records, this.section.heldOut);
  }

  private async compare(responder: Responder): Promise<Pick<Gathered, 'heldOut' | 'trustHorizon'>> {
    const { context, parts } = this.given;
    const { heldOut } = this.split();
    if (heldOut.length === 0) return { heldOut: null, trustHorizon: null };
    const estimates = new ShadowEstimates();
    for (const [row, record] of heldOut.entries()) {
      context.signal.throwIfAborted();
      estimates.addRow(row, await comparedRecord(responder, parts.domain, record));
    }
    const { all } = estimates.counts();
    return { heldOut: all, trustHorizon: trustHorizon(all, context.scenario.config.shadow.tolerance) };
  }
}

function makeRouterOf(
  model: Model,
  { scenario, device }: Pick<JobContext<ToolsScenario>, 'scenario' | 'device'>,
  { domain, experience, cast }: ToolsParts,
): Promise<Responder> {
  return makeResponder({ model }, domain, experience, cast, { folder: scenario.folder, device });
}

/** Each recorded call, put to `responder` in the state that it was made in. */
async function comparedRecord(
  responder: Responder,
  domain: ToolsDomain,
  { task: id, seed, steps, messages }: EpisodeRecord,
): Promise<ShadowRow> {
  const task = domain.tasks.find((one) => one.id === id)!;
  const sum: Record<string, ShadowCounts> = {};
  let state = initialStateOf(domain, task);
  let made = 0;
  for (const { action, message, predictions } of steps) {
    for (const [i, real] of predictions.entries()) {
      const call = action.toolCalls![i];
      const query = { domain, task, state, messages: messages.slice(0, message + 1), call, step: made++, seed };
      const dreamt = await responder.answer(query);
      addRowCounts(sum, { [dreamt.backend]: difference(query, dreamt, real) });
      state = applyOperations(state, real.operations);
    }
  }
  return sum;
}
