// What a scenario of text may say of `reverie train`: who learns, from whom, and on which tasks it is judged.

import { z } from 'zod';
import { groupEstimators } from '../../rl/group/estimators.js';
import { textNetworks } from '../../rl/text/networks.js';
import { overridesOf } from '../common-keys.js';
import { agentSection } from './agent-section.js';

const positive = z.int().min(1);
const count = z.int().min(0);
const share = z.number().min(0).max(1);
const rate = z.number().positive();
const splits = z.array(z.enum(['train', 'validation', 'test'])).min(1);

const networks = () => textNetworks.list();

const rewards = z
  .enum(['paid', 'verdict'])
  .optional()
  .describe(
    'What is learned from: `paid`, what the world pays on the way and at the end (the default); or `verdict`, 1 where the episode was won and else 0, for worlds that pay less than nothing for a try that failed and nothing for none.',
  );
const progressWeight = z
  .number()
  .min(0)
  .optional()
  .describe(
    'Weight of progress as a reward on the way, where the exact rules know how much of the goal is done (Ng et al. 1999); default 0: none.',
  );

const gaeLambda = share
  .optional()
  .describe("ppo: how far advantages look past the next step (GAE's lambda); default 0.95.");

export function textRlSchema() {
  const sections = Object.fromEntries(
    // The first is filled in, as it was when there was no other; a scenario is not changed by networks that it does not use.
    networks().map(({ name, schema, summary }, i) => [
      name,
      (i === 0 ? schema.prefault({}) : schema.optional()).describe(summary),
    ]),
  );
  return z
    .strictObject({
      algorithm: z
        .enum(groupEstimators.names() as [string, ...string[]])
        .default('grpo')
        .describe(
          'How much better a choice was than the rest of its group: `grpo`, `gigpo` or `rloo`; or than a critic expected: `ppo`.',
        ),
      network: z
        .enum(textNetworks.names() as [string, ...string[]])
        .default('relevance')
        .describe('The network that chooses among the admissible commands.'),
      lr: rate.default(5e-4).describe('Step size of Adam.'),
      epochs: positive.default(2).describe('Passes over the episodes of a round.'),
      clipLow: share
        .default(0.2)
        .describe('How far the probability of a choice may fall in a round before it stops counting.'),
      clipHigh: z
        .number()
        .min(0)
        .default(0.28)
        .describe('How far it may grow; more than `clipLow` keeps rare choices growing (DAPO, 2503.14476).'),
      klCoefficient: z.number().min(0).default(0).describe('Weight of KL to the policy as it was after imitation.'),
      entropyCoefficient: z.number().min(0).default(0).describe('Weight of entropy as a reward.'),
      normalise: z
        .boolean()
        .default(true)
        .describe("grpo, gigpo: divide by the group's standard deviation; false: Dr. GRPO (2503.20783)."),
      average: z
        .enum(['episode', 'step'])
        .default('episode')
        .describe('What counts alike: each episode, or each step (DAPO), by which long failures outweigh what won.'),
      gamma: share.default(0.95).describe('gigpo, ppo, progressWeight: discount of a reward one step later.'),
      stepWeight: z.number().min(0).default(1).describe('gigpo: weight of the advantage among equal states.'),
      gaeLambda,
      valueCoefficient: z.number().min(0).optional().describe("ppo: weight of the critic's error; default 0.5."),
      keptGroups: share
        .optional()
        .describe(
          'Share of the groups that are learned from, those whose returns differ most (RAGEN, 2504.20073); default 1.',
        ),
      rewards,
      progressWeight,
      ...sections,
    })
    .prefault({})
    .describe('`reverie train`: who learns to choose among admissible commands, and how.');
}

const gatherSection = z
  .strictObject({
    episodes: positive.describe('Real episodes each time, all of whose steps count as real.'),
    agent: agentSection.describe('Who lives them the first time; later it is the policy of the moment.'),
    every: positive.default(20).describe('mode interleaved: rounds between two times.'),
    heldOut: share
      .max(0.5)
      .default(0.2)
      .describe('Share of the episodes that the dream is not made of and is compared with.'),
  })
  .describe(
    'Records that the dream is made of: lived before the first round, and in mode interleaved again and again.',
  );

const valueSection = z
  .strictObject({
    network: z
      .enum(
        networks()
          .filter(({ makeValues }) => makeValues !== undefined)
          .map(({ name }) => name) as [string, ...string[]],
      )
      .optional()
      .describe(
        'Network of the value model, with its settings under `rl`; default: `rl.network` where it can, else `relevance`.',
      ),
    epochs: positive.default(20).describe('Passes over the recorded choices.'),
    lr: rate.default(2e-3).describe('Step size of Adam in these.'),
    nStep: positive
      .optional()
      .describe("Steps after which the model's own word stands in for what followed; default: never (Monte Carlo)."),
    situations: positive.default(64).describe('Recorded situations of a round, `groupSize` draws each.'),
  })
  .describe(
    'mode value: what recorded choices came to is learned, and the policy learns from that alone (VEM, 2502.18906).',
  );

const growSection = z
  .strictObject({
    band: z
      .tuple([share, share])
      .default([0.25, 0.75])
      .refine(([least, most]) => least < most, 'the first must be below the second')
      .describe('Share of lost episodes of a family, from and to: its tasks are taken more often.'),
    replay: share.default(0.25).describe('Share of the tasks of a round that are taken in turn all the same.'),
    window: positive.default(16).describe('Last episodes of a family that count.'),
    score: z
      .enum(['band', 'outcomeVariance'])
      .optional()
      .describe(
        'What families are taken by: `band`, those within it alike (the default); or `outcomeVariance`, all, each as often as the variance of its outcomes says, largest where half of its episodes are won (DreamGym, 2511.03773).',
      ),
    deficits: z
      .boolean()
      .optional()
      .describe(
        'Of these families, takes those oftener that need what lost episodes lack: each is held against the nearest one that was won from the same start (TRACE).',
      ),
  })
  .describe(
    'Takes more of the tasks that the policy of the moment neither always wins nor always loses, others of the same family (UI-Simulator-Grow, 2510.14969; by variance: DreamGym, 2511.03773); absent: all in turn.',
  );

const trainKeys = z.strictObject({
  mode: z
    .enum(['real', 'dream', 'dream-then-real', 'interleaved', 'value'])
    .default('real')
    .describe(
      'Where it learns: in the exact rules of the domain; where `model` answers; there and then for `realRounds` in the rules; there with `gather` every so many rounds; or, with nothing lived but what is gathered, from a model of what choices came to (`value`). It is judged in the rules.',
    ),
  domain: z.looseObject({}).default({}).describe('Keys of `domain` that differ in training.'),
  model: z.looseObject({}).optional().describe('Keys of `model` that differ in the dream of a training.'),
  gather: gatherSection.optional(),
  value: valueSection.optional(),
  realRounds: count
    .optional()
    .describe('mode dream-then-real: rounds in the exact rules, after the others; default: as many as `rounds`.'),
  dreamShare: share
    .optional()
    .describe(
      'Modes dream and interleaved: share of the rounds that are lived in the dream, the others evenly between them in the exact rules; default: all.',
    ),
  splits: splits.default(['train']).describe('Splits whose tasks are learned from.'),
  evalSplits: splits
    .default(['validation'])
    .describe('Splits whose tasks it is judged on; one that is in `splits` too tells nothing of what was not seen.'),
  evalTasks: positive.default(40).describe('Tasks of an evaluation, evenly spaced, an episode each.'),
  evalEvery: positive.default(10).describe('Rounds between evaluations.'),
  evalChoice: z
    .enum(['sample', 'mode'])
    .default('sample')
    .describe('Evaluations draw choices as training does, or take the most probable.'),
  checkEpisodes: count
    .default(40)
    .describe(
      'Modes that dream: episodes lived twice beside an evaluation, in the dream and in the exact rules, to tell where the dream goes wrong; nothing is learned from them. 0: none.',
    ),
  cloneTasks: count.default(0).describe('Tasks whose reference is imitated first, evenly spaced; 0: none.'),
  cloneEpochs: positive.default(10).describe('Passes over these.'),
  cloneDetours: count
    .default(0)
    .describe(
      'Most places that a walkthrough is shown to look into in vain before the right one, once as it is and once with searches; 0: as it is.',
    ),
  cloneLr: rate.default(2e-3).describe('Step size of Adam in these.'),
  rounds: count.default(100).describe('Rounds of living and learning; 0: imitation alone.'),
  tasksPerRound: positive.default(8).describe('Groups of a round, a task each.'),
  grow: growSection.optional(),
  groupSize: z.int().min(2).default(8).describe('Episodes of a group: they begin alike.'),
  checkpointSeconds: z
    .number()
    .min(0)
    .default(20)
    .describe('Seconds between checkpoints, taken between rounds. Never changes results.'),
});

export const textTrainSchema = trainKeys
  .prefault({})
  .describe('`reverie train` in a world of text: imitation, then groups of episodes.');

const quickstartKeys = trainKeys.omit({ mode: true, realRounds: true, dreamShare: true });

export const textQuickstartSchema = z
  .strictObject({
    seeds: positive.default(2).describe('Seeds each way of training is run with: `seed`, `seed` + 1, ...'),
    train: overridesOf(quickstartKeys)
      .default({})
      .describe('Keys of `train` that differ here, in both ways of training.'),
    realOnly: overridesOf(quickstartKeys.pick({ rounds: true, evalEvery: true }))
      .default({})
      .describe('Keys of `train` that differ once more where all rounds are lived in the exact rules.'),
  })
  .prefault({})
  .describe(
    '`reverie quickstart` of a world of text: as many rounds in a dream of a few real episodes and in the exact rules.',
  );
