// The value model of a training in mode `value`: real episodes are gathered and kept, what their choices came to is learned, and episodes
// that were held out say whether it knows more than a constant. One that does not is not learned from.

import { Rng } from '../../../core/rng.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { textNetworks } from '../../../rl/text/networks.js';
import type { TextValueModel } from '../../../rl/text/scored-learner.js';
import type { TextSituation } from '../../../rl/text/text-policy.js';
import { isWon, type PlayedText } from '../../../training/text-play.js';
import type { Gathered, TextValues } from '../../../training/text-training.js';
import { fitValues, type ValuedEpisode } from '../../../training/text-values.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import {
  gatherRecords,
  keepDemonstrations,
  keptDemonstrations,
  keptRecords,
  splitRecords,
} from './gathered-records.js';
import { bareAgent, type ToolsParts } from './parts.js';
import { compareValues, requireSkill } from './value-calibration.js';
import { ValuedRecords } from './valued-records.js';

export interface RecordedValuesParts {
  readonly context: JobContext<ToolsScenario>;
  readonly parts: ToolsParts;
  readonly tasks: readonly ToolsTask[];
  /** Times that an earlier process of the run gathered. */
  readonly gathered: number;
}

interface Made {
  readonly model: TextValueModel;
  readonly situations: readonly TextSituation[];
  readonly used: readonly ValuedEpisode[];
  readonly heldOut: readonly ValuedEpisode[];
  readonly skipped: number;
}

export class RecordedValues implements TextValues {
  private demonstrations: EpisodeRecord[] | undefined;
  private readonly records: EpisodeRecord[] = [];
  private made: Promise<Made> | undefined;

  constructor(private readonly given: RecordedValuesParts) {}

  async remember(shown: readonly PlayedText[]): Promise<void> {
    this.demonstrations = await keepDemonstrations(this.given, shown);
  }

  async gather(time: number): Promise<Gathered> {
    const { context, parts, tasks } = this.given;
    const { gather } = context.scenario.config.train;
    const agent = await bareAgent(gather!, parts.cast, parts.domain);
    const records = await gatherRecords({ context, parts, agent, tasks, episodes: gather!.episodes, time });
    this.records.push(...records);
    this.made = this.make();
    const { model, used, heldOut, skipped } = await this.made;
    const { gamma } = context.scenario.config.rl;
    const rng = Rng.fromSeed(context.seed).split('values', 'compare');
    const values = { ...(await compareValues(model, used, heldOut, gamma, rng)), skipped };
    requireSkill(values);
    return {
      episodes: records.length,
      steps: records.reduce((sum, { steps }) => sum + steps.length, 0),
      wins: records.filter(({ return: reward }) => isWon({ reward })).length,
      agent: agent.version,
      made: [`value model: ${model.version}, ${model.parameters} parameters, of ${values.steps} recorded steps`],
      heldOut: null,
      trustHorizon: null,
      values,
    };
  }

  async situations(): Promise<readonly TextSituation[]> {
    return (await this.reopened()).situations;
  }

  async values(situations: readonly TextSituation[]): Promise<Float32Array[]> {
    return (await this.reopened()).model.values(situations);
  }

  async close(): Promise<void> {
    await (await this.made?.catch(() => undefined))?.model.close();
  }

  /** What an earlier process left: the same records make the same model. */
  private async reopened(): Promise<Made> {
    if (this.made === undefined) {
      const { context, gathered } = this.given;
      for (let time = 0; time < gathered; time++) this.records.push(...(await keptRecords(context.out, time)));
      this.made = this.make();
    }
    return this.made;
  }

  private async make(): Promise<Made> {
    const { context, parts } = this.given;
    const { config } = context.scenario;
    const { rl, train } = config;
    this.demonstrations ??= await keptDemonstrations(context.out);
    const read = new ValuedRecords(parts.domain, config);
    const { used, heldOut } = splitRecords(this.records, train.gather!.heldOut);
    const episodes = read.episodes([...this.demonstrations, ...used]);
    const others = read.episodes(heldOut);
    const model = await makeModel(context);
    const { epochs = 20, lr = 2e-3, nStep = Number.POSITIVE_INFINITY } = train.value ?? {};
    const bar = context.progress.phase('value model', epochs, 'epochs');
    const rng = Rng.fromSeed(context.seed).split('values', 'fit');
    await fitValues(model, episodes, { epochs, lr, nStep, gamma: rl.gamma }, rng, (error) => {
      context.signal.throwIfAborted();
      bar.advance(1, `error ${error.toFixed(4)}`);
    });
    bar.end();
    const situations = episodes.flatMap(({ steps }) =>
      steps.flatMap((step) => ('situation' in step ? [step.situation] : [])),
    );
    return { model, situations, used: episodes, heldOut: others, skipped: read.skipped };
  }
}

async function makeModel({ scenario, seed }: JobContext<ToolsScenario>): Promise<TextValueModel> {
  const { rl, train } = scenario.config;
  const own = textNetworks.get(rl.network).makeValues === undefined ? 'relevance' : rl.network;
  const entry = textNetworks.get(train.value?.network ?? own);
  const make = await entry.makeValues!();
  const settings = entry.schema.parse((rl as Readonly<Record<string, unknown>>)[entry.name] ?? {});
  return make(settings as never, Rng.fromSeed(seed).split('values', 'weights'));
}
