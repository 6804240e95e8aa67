// The value model of a training in mode `value` (VEM): real episodes are gathered and kept, what their choices came to is learned, and
// episodes that were held out say whether it knows more than a constant. One that does not is not learned from.

import { reverieError } from '../../../core/errors.js';
import { Rng } from '../../../core/rng.js';
import { mean } from '../../../core/statistics.js';
import { applyOperations } from '../../../env/state/operations.js';
import { stateHash } from '../../../env/state/state.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import { initialStateOf } from '../../../env/tools/situation.js';
import { admissibleIn } from '../../../env/tools/text-environment.js';
import { bootstrapEstimate } from '../../../fidelity/statistics.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { TextValueModel } from '../../../rl/text/text-learner.js';
import type { TextSituation } from '../../../rl/text/text-policy.js';
import { isWon, type PlayedText, TextPolicyAgent } from '../../../training/text-play.js';
import type { Gathered, TextValues, ValueFit } from '../../../training/text-training.js';
import { fitValues, isKnown, recordedValues, returnsOf, type ValuedEpisode } from '../../../training/text-values.js';
import { bareAgent } from './parts.js';
import { GatheredRecords, type Gathering } from './recorded-dream.js';
import { textViewOf } from './text-policy.js';

interface Made {
  readonly model: TextValueModel;
  readonly situations: readonly TextSituation[];
  readonly used: readonly ValuedEpisode[];
  readonly heldOut: readonly ValuedEpisode[];
  readonly skipped: number;
}

export class RecordedValues implements TextValues {
  private readonly records: GatheredRecords;
  private made: Promise<Made> | undefined;

  constructor(private readonly given: Gathering) {
    this.records = new GatheredRecords(given);
  }

  remember(shown: readonly PlayedText[]): Promise<void> {
    return this.records.remember(shown);
  }

  async gather(time: number): Promise<Gathered> {
    const { context, parts } = this.given;
    const { train, rl } = context.scenario.config;
    const gathered = await this.records.gather(time, await bareAgent(train.gather!, parts.cast, parts.domain));
    this.made = this.make();
    const { model, used, heldOut, skipped } = await this.made;
    const rng = Rng.fromSeed(context.seed).split('values', 'compare');
    const values = { ...(await compareValues(model, used, heldOut, rl.gamma, rng)), skipped };
    requireSkill(values);
    const made = [`value model: ${model.version}, ${model.parameters} parameters, of ${values.steps} recorded steps`];
    return { ...gathered, made, heldOut: null, trustHorizon: null, values };
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
  private reopened(): Promise<Made> {
    this.made ??= this.records.reread(this.given.gathered).then(() => this.make());
    return this.made;
  }

  private async make(): Promise<Made> {
    const { context, parts } = this.given;
    const { rl, train } = context.scenario.config;
    const { used, heldOut, demonstrations } = await this.records.split(train.gather!.heldOut);
    let skipped = 0;
    const read = recordReader(parts.domain, rl.rewards ?? 'paid', () => skipped++);
    const episodes = read([...demonstrations, ...used]);
    const others = read(heldOut);
    const model = await TextValueModel.make(rl.relevance, Rng.fromSeed(context.seed).split('values', 'weights'));
    const { epochs = 20, lr = 2e-3 } = train.value ?? {};
    const bar = context.progress.phase('value model', epochs, 'epochs');
    const rng = Rng.fromSeed(context.seed).split('values', 'fit');
    await fitValues(model, episodes, { epochs, lr, gamma: rl.gamma }, rng, (error) => {
      context.signal.throwIfAborted();
      bar.advance(1, `error ${error.toFixed(4)}`);
    });
    bar.end();
    const situations = episodes.flatMap(({ steps }) =>
      steps.flatMap((step) => ('situation' in step ? [step.situation] : [])),
    );
    return { model, situations, used: episodes, heldOut: others, skipped };
  }
}

/**
 * Reads recorded episodes as a policy of text would have seen them: each situation with its choices, the one that was made, and its reward.
 * @param skip  called for each step of which the action was not among the choices
 */
function recordReader(domain: ToolsDomain, rewards: 'paid' | 'verdict', skip: () => void) {
  // Nobody decides: the agent tells what it would choose among.
  const agent = new TextPolicyAgent({ version: 'recorded', decide: async () => [] }, textViewOf(domain));
  /** What a policy would have been paid: what the verdict adds is paid at the end. */
  const rewardsOf = ({ steps, return: total }: EpisodeRecord): number[] => {
    const last = steps.length - 1;
    if (rewards === 'verdict') return steps.map((_, t) => (t === last && isWon({ reward: total }) ? 1 : 0));
    const paid = steps.reduce((sum, { reward }) => sum + (reward ?? 0), 0);
    return steps.map(({ reward }, t) => (reward ?? 0) + (t === last ? total! - paid : 0));
  };
  const episode = (record: EpisodeRecord): ValuedEpisode => {
    const task = domain.tasks.find(({ id }) => id === record.task)!;
    const paid = rewardsOf(record);
    let state = initialStateOf(domain, task);
    const steps = record.steps.map(({ message, action, predictions }, step): ValuedEpisode['steps'][number] => {
      const now = state;
      for (const { operations } of predictions) state = applyOperations(state, operations);
      const messages = record.messages.slice(0, message);
      const admissible = () => admissibleIn(domain, now);
      const query = { messages, tools: domain.tools, task, seed: record.seed, step, admissible };
      const { situation } = agent.situation(query);
      const choice = situation.admissible.indexOf(agent.said(action));
      const reward = paid[step];
      if (choice >= 0) return { situation, choice, reward, state: stateHash(now) };
      skip();
      return { reward };
    });
    return { steps, won: isWon({ reward: record.return }) };
  };
  /** Those that could be judged. */
  return (records: readonly EpisodeRecord[]): ValuedEpisode[] =>
    records.flatMap((record) => (record.return === null ? [] : [episode(record)]));
}

type Comparison = Omit<ValueFit, 'skipped'>;

/**
 * A value model beside recorded episodes that it was not made of: does it know more than a constant?
 * @param gamma  as the model was fitted with
 */
export async function compareValues(
  model: Pick<TextValueModel, 'values'>,
  used: readonly ValuedEpisode[],
  heldOut: readonly ValuedEpisode[],
  gamma: number,
  rng: Rng,
): Promise<Comparison> {
  const returns = ({ steps }: ValuedEpisode) =>
    returnsOf(
      steps.map(({ reward }) => reward),
      gamma,
    );
  const known = used.flatMap((episode) => returns(episode).filter((_, t) => isKnown(episode.steps[t])));
  const constant = mean(known);
  const values = await recordedValues(model, heldOut);
  /** Squared errors of each step: of the model, and of the constant. */
  const errors = heldOut.map((episode, e) =>
    returns(episode).flatMap((came, t) =>
      isKnown(episode.steps[t]) ? [[(came - values[e][t]!) ** 2, (came - constant) ** 2] as const] : [],
    ),
  );
  const sumOf = (steps: readonly (readonly [number, number])[], which: 0 | 1) =>
    steps.reduce((sum, step) => sum + step[which], 0);
  const skillOf = (episodes: readonly (typeof errors)[number][]) => {
    const base = sumOf(episodes.flat(), 1);
    return base === 0 ? null : 1 - sumOf(episodes.flat(), 0) / base;
  };
  const { value, low, high } = bootstrapEstimate(errors, skillOf, rng);
  const steps = errors.flat();
  const count = Math.max(steps.length, 1);
  return {
    ...{ episodes: used.length, steps: known.length, heldOutEpisodes: heldOut.length, heldOutSteps: steps.length },
    ...{ error: sumOf(steps, 0) / count, constantError: sumOf(steps, 1) / count, skill: { value, low, high } },
  };
}

/** The gate: a model that is no better than a constant would teach noise. @throws DOMAIN_UNFIT */
export function requireSkill({ steps, heldOutSteps, skill, error, constantError }: Comparison): void {
  if (skill.low !== null && skill.low > 0) return;
  const low = skill.low === null ? 'unknown' : skill.low.toFixed(3);
  const none = heldOutSteps === 0 ? 'no recorded step was held out' : 'all steps that were held out came to the same';
  const problem =
    skill.value === null
      ? `${none}, so that nothing says whether it knows more than a constant`
      : `on ${heldOutSteps} steps that were held out its squared error is ${error.toFixed(4)}, and that of a constant ${constantError.toFixed(4)} (skill ${skill.value.toFixed(3)}, at least ${low} with 95 % confidence)`;
  throw reverieError('SCENARIO_UNFIT', {
    problem: `The value model of ${steps} recorded steps is not learned from: ${problem}.`,
    hint: 'Gather more episodes, some of which are won (train.gather.episodes, train.gather.agent), hold out more of them (train.gather.heldOut), or change its passes (train.value.epochs).',
  });
}
