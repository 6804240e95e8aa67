// What a scenario of numbers may say: every section, its keys, ranges, defaults and meanings, once. The loader checks against
// this, and the table in docs/scenarios.md is generated from it.

import { resolve } from 'node:path';
import { z } from 'zod';
import type { ScenarioOf, ScenarioSections } from '../core/kind.js';
import { checkEnvSpec, environmentFiles, envSpecSchema } from '../env/environments.js';
import { ranged } from '../env/space-values.js';
import type { ppoConfigSchema, sacConfigSchema } from '../rl/config.js';
import { learners } from '../rl/learners.js';
import { transitionFormatSchema } from '../synth/export/transition-exports.js';
import { dynamicsKinds, modelSectionSchema } from '../worldmodel/kinds.js';
import {
  above0,
  chosenBy,
  count,
  flag,
  from0,
  headKeys,
  judgedKeys,
  oneOf,
  orNull,
  overridesOf,
  positive,
  profilesKey,
  section,
  seedKey,
  share,
} from './keys.js';

/** A scenario of numbers. */
export type Scenario = ScenarioOf<'vector', ScenarioConfig>;

const orAuto = <S extends z.ZodType>(value: S) => z.union([value, z.literal('auto')]).default('auto');

const selectorKinds = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('uniform').describe('Every row is as likely as any other.') }),
  z.strictObject({
    kind: z.literal('prioritized').describe('By temporal-difference error (Schaul et al., 1511.05952).'),
    alpha: share.default(0.6).describe('How much priority counts; 0 is uniform.'),
    beta: share.default(0.4).describe('How much of the bias is corrected by importance weights.'),
  }),
]);

const selectorSection = chosenBy('kind', 'uniform', selectorKinds)
  .prefault({ kind: 'uniform' })
  .describe('How rows are chosen within a buffer. SAC, REDQ, DroQ and SimBa only.');

const generativeSection = z
  .strictObject({
    share: share.gt(0).default(0.5).describe('Share of drawn rows in every batch, once there are any.'),
    rows: positive.default(50_000).describe('Rows drawn from each diffusion that is fitted.'),
    refitEvery: positive.default(10_000).describe('Real rows after which one is fitted anew; offline: once.'),
    updates: positive.default(10_000).describe('Gradient steps of a fit.'),
    hidden: positive.max(4096).default(256).describe('Width of the residual network.'),
    blocks: positive.max(64).default(4).describe('Its residual blocks.'),
    batchSize: positive.max(65536).default(256).describe('Rows of a gradient step.'),
    lr: above0.default(1e-3).describe('Step size of Adam.'),
    levels: z.int().min(2).max(1000).default(32).describe('Levels of noise a drawn row comes down by (2206.00364).'),
  })
  .nullable()
  .default(null)
  .describe(
    'Rows drawn from a diffusion of the real ones, learned from beside them; null: none. With `train.mode` real or offline, and a learner that replays rows.',
  );

const replaySection = section('What is kept, and what a learner is shown of it.', {
  realCapacity: positive.default(1_000_000).describe('Real transitions kept; the oldest are overwritten.'),
  syntheticCapacity: positive.default(400_000).describe('Simulated transitions kept; the oldest are overwritten.'),
  keepModels: positive
    .nullable()
    .default(4)
    .describe('Newer models after which simulated rows leave; null: they stay.'),
  realRatio: orAuto(share).describe(
    'Share of real rows in every batch in dream mode. `auto`: a tenth with a model that explains all of its held-out rows, up to a half with a worse one.',
  ),
  generative: generativeSection,
  selector: selectorSection,
});

const fidelitySection = section('`reverie fidelity`: how far the dream is from the real.', {
  transitions: positive.default(10_000).describe('Real transitions judged; recorded where `--data` gives none.'),
  horizon: positive.default(50).describe('Steps simulated open loop, under the actions that were taken for real.'),
  starts: positive.max(1e7).default(256).describe('Real states that open-loop dreams begin from.'),
  tolerance: above0.default(0.5).describe('Error, in standard deviations, up to which a simulated state is right.'),
  ...judgedKeys('Do policies rank in the dream as they do for real?'),
});

const horizonSchema = z.union([
  positive,
  ranged(z.tuple([count, count, positive, positive]), ([from, to]) => [from, to]),
  z.literal('auto'),
]);

const rolloutSection = section('Dreaming: short rollouts in the world model, branched from real states.', {
  horizon: horizonSchema
    .default('auto')
    .describe(
      'Length of a branched rollout, or `[fromStep, toStep, from, to]`: linear in real steps, then constant; `auto`: as many steps as imagined episodes stay near the real ones of the policy, tried at every refit; 1 before.',
    ),
  startsPerRound: orAuto(positive.max(1e7)).describe('Real states a round branches from; `auto`: for 50,000 rows.'),
  disagreementLimit: z
    .union([above0, z.literal('auto')])
    .nullable()
    .default('auto')
    .describe(
      'A branch is truncated where the elites differ by more than this (normalised units); null: never; `auto`: 1, as much as a state usually moves in a step.',
    ),
  range: from0
    .nullable()
    .default(1)
    .describe(
      'A branch ends before an observation that lies further beyond the range of the real ones than this many times its width; an episode of a dream that is served or played is truncated there. null: never.',
    ),
  gate: oneOf(
    ['auto', 'open'],
    'Whether a round uses the world model. `auto`: not with a model that explains too little of held-out rows or less than a simple model; the learner then learns as much from real rows alone.',
  ),
  propagation: oneOf(['ts1', 'mean'], 'One random elite a row and step, or the mean of the elites.'),
  chunkRows: positive.default(2048).describe('Rows a worker dreams at once: results depend on it.'),
});

type OurLearner<Name extends string, Section extends z.ZodObject> = z.ZodObject<
  Section['shape'] & { readonly algorithm: z.ZodLiteral<Name> },
  z.core.$strict
>;
type OurLearners = [OurLearner<'sac', typeof sacConfigSchema>, OurLearner<'ppo', typeof ppoConfigSchema>];

/** One of the learners that a training run can have; its type is that of ours. */
function rlSection() {
  const trained = learners.list().filter(({ learnsFrom }) => learnsFrom !== 'demonstrations');
  const sections = trained.map(({ name, summary, schema }) =>
    schema.extend({ algorithm: z.literal(name).describe(summary) }),
  );
  return chosenBy('algorithm', 'sac', z.discriminatedUnion('algorithm', sections as unknown as OurLearners))
    .prefault({ algorithm: 'sac' })
    .describe('The learner.');
}

const trainKeys = z.strictObject({
  mode: oneOf(
    ['dream', 'real', 'offline'],
    'Learn mostly in the dream, from the real environment alone, or from the records of `--data` alone, with no real steps but those of evaluations.',
  ),
  realSteps: positive.default(20_000).describe('Budget of steps in the real environment.'),
  initialRandomSteps: orAuto(count).describe(
    'Real steps taken by a uniformly random policy before learning starts; `auto`: 20 for each element of an observation and an action, at least 100, and 1,000 for more than 12. PPO takes none, as it cannot learn from them.',
  ),
  stepsPerRound: orAuto(positive).describe(
    'Real steps of a round, after which there is dreaming and learning; `auto`: a quarter of the random ones, 25 to 100. With PPO the rollout of one update; `auto`: 250.',
  ),
  refitEvery: orAuto(positive).describe(
    'Real steps between refits of the model, in whole rounds; `auto`: once a tenth of the rows is new, or 250, or the model is worse on new rows than it was.',
  ),
  refit: oneOf(['continue', 'anew'], 'Refit from the last weights, or from scratch (slower, better on little data).'),
  updatesPerStep: orAuto(from0).describe(
    'Updates a real step, in real mode; `auto`: 20 with redq and droq, 10 with simba, else 1.',
  ),
  updatesPerRound: orAuto(count).describe(
    'Gradient updates of a round, in dream mode or offline; `auto`: likewise, else 40 a real step.',
  ),
  offlineUpdates: positive
    .default(50_000)
    .describe('Gradient updates in all, offline; `updatesPerRound` between evaluations.'),
  cyclesPerRound: orAuto(positive).describe(
    'Times dreaming and learning alternate within a round, which share out starts and updates; `auto`: every 500 updates.',
  ),
  checkpointSeconds: from0.default(20).describe('Seconds between checkpoints, between rounds. Never changes results.'),
  keepPolicyEvery: orNull(positive).describe(
    'Real steps between learners that are kept as they were, in `policies/` of the run; null: the last alone. `reverie fidelity --checkpoint RUN` ranks them all.',
  ),
  evalEvery: orAuto(positive).describe(
    'Real steps between evaluations, whose own steps are not counted; `auto`: after every second round, and with PPO after every one.',
  ),
  evalEpisodes: positive.default(5).describe('Real episodes an evaluation runs.'),
  threshold: orNull(z.number()).describe('Mean real return that counts as solved; null: none.'),
  stopAtThreshold: flag(false, 'End the run at the first evaluation that reaches the threshold.'),
});

const collectSection = section('`reverie collect`: recording the real environment.', {
  policy: oneOf(['random', 'checkpoint'], 'Policy used for recording: random, or a trained one (`checkpoint`).'),
  steps: positive.default(10_000).describe('Real steps to record.'),
});

const evalSection = section('`reverie eval`, and the evaluations within a training run.', {
  episodes: positive.default(10).describe('Real episodes to run.'),
  deterministic: flag(true, "Act by the policy's mode instead of sampling."),
});

/** Of the formats that are registered now. */
function synthSection() {
  return section('`reverie synth`: a dataset simulated by a world model.', {
    starts: positive.max(1e7).default(10_000).describe('Recorded states to branch from, drawn at random.'),
    episodes: flag(false, 'Whole episodes in place of branches of `rollout.horizon` steps.'),
    export: z.array(transitionFormatSchema()).default(['parquet']).describe('Datasets to write.'),
  });
}

/** What the dream is compared with besides the learner from scratch: that with many updates, and other learners. */
function quickstartSection() {
  const trained = learners.list().filter(({ learnsFrom }) => learnsFrom === 'replay' || learnsFrom === 'rollouts');
  const scratch = trainKeys.omit({ mode: true, threshold: true, stopAtThreshold: true, offlineUpdates: true });
  return section('`reverie quickstart`: warm-started in the dream against the best of the baselines.', {
    seeds: positive.default(3).describe('Seeds each way of training is run with: `seed`, `seed` + 1, ...'),
    finalEpisodes: positive.default(20).describe('Real episodes the trained policy is judged by at the end.'),
    fromScratch: overridesOf(scratch)
      .default({})
      .describe('Keys of `train` that differ when the same learner is trained from scratch, in real mode.'),
    baselines: z
      .array(z.enum(['many-updates', ...trained.map(({ name }) => name)]))
      .default(['many-updates'])
      .describe(
        'What the dream is compared with besides the learner from scratch: `many-updates`, the same learner on real rows alone (`replay.realRatio: 1`) with as many updates as in the dream; or other learners from scratch. The best of all counts.',
      ),
  });
}

/** Of the environments, dynamics and learners that are registered now. */
function sections() {
  return {
    family: z
      .literal('vector')
      .optional()
      .describe('Rows of numbers; `tools` scenarios have other sections (docs/tools.md).'),
    ...headKeys('what is to be learned'),
    env: envSpecSchema().describe('The real environment: a known id with options, or a body of your own (see below).'),
    model: chosenBy('kind', 'ensemble', modelSectionSchema())
      .prefault({ kind: 'ensemble' })
      .describe('The world model.'),
    rollout: rolloutSection,
    replay: replaySection,
    rl: rlSection(),
    train: trainKeys.prefault({}).describe('The training run.'),
    collect: collectSection,
    eval: evalSection,
    synth: synthSection(),
    fidelity: fidelitySection,
    quickstart: quickstartSection(),
    seed: seedKey,
    workers: orAuto(count.max(256)).describe(
      'Worker threads for dreaming, fitting and writing datasets; 0: in the main thread; auto: `synth` takes the cores there are, every other job none. Never changes results.',
    ),
  };
}

type Sections = z.ZodObject<ReturnType<typeof sections>, z.core.$strict>;
export type ScenarioConfig = z.output<Sections>;

/** Real steps of a round where a scenario leaves them open to a learner of rollouts. */
export const ROLLOUT_STEPS = 250;

/** What a learner can learn from: records and drawn rows are for learners of rows, rollouts are real, and a planner plans in a model. */
function checkLearner({ rl, train, replay, model }: ScenarioConfig, context: z.RefinementCtx): void {
  const { name, learnsFrom } = learners.get(rl.algorithm);
  const refuse = (at: string, message: string) => context.addIssue({ code: 'custom', path: at.split('.'), message });
  const { preset = name } = rl as { readonly preset?: string };
  if ('preset' in model && preset !== 'mbpo' && 'preset' in rl)
    refuse('rl.preset', `${preset} learns without a model; with one choose rl.algorithm ${name}, or rl.preset mbpo`);
  if (preset !== name && !(preset === 'mbpo' && name === 'sac'))
    refuse('rl.preset', `${preset} is not of rl.algorithm ${name}; leave one of the two out`);
  const who = name.toUpperCase();
  if (train.mode === 'offline' && learnsFrom !== 'replay')
    refuse('rl.algorithm', `${name} does not learn from records; td3-bc is made for train.mode offline`);
  if (train.mode === 'offline' && train.updatesPerRound === 0)
    refuse('train.updatesPerRound', 'offline, a round is its updates; set it to 1 or more');
  if (train.mode === 'offline' && train.keepPolicyEvery !== null)
    refuse('train.keepPolicyEvery', 'offline, no real steps are taken; set it to null');
  if (replay.generative !== null && learnsFrom !== 'replay')
    refuse('replay.generative', `${name} does not replay rows; set it to null, or choose a learner that does`);
  if (replay.selector.kind !== 'uniform' && learnsFrom !== 'replay')
    refuse('replay.selector.kind', `${name} does not replay rows; set it to uniform`);
  if (replay.generative !== null && train.mode === 'dream')
    refuse('replay.generative', 'the world model simulates rows already; set train.mode to real or offline');
  if (learnsFrom === 'model' && train.mode === 'real')
    refuse('train.mode', `${who} plans in a world model; set train.mode to dream`);
  if (learnsFrom !== 'rollouts') return;
  if (train.mode === 'dream')
    refuse('train.mode', `${who} learns from rollouts of the real environment alone; set train.mode to real`);
  const rows = train.stepsPerRound === 'auto' ? ROLLOUT_STEPS : train.stepsPerRound;
  const needs = `${who} learns from batches of ${rl.batchSize} rows (rl.batchSize)`;
  if (Number(rl.batchSize) > rows) refuse('train.stepsPerRound', `${needs}, and a round gives ${rows}`);
}

/** As they are now: plugins add to them. */
export function vectorSections(): ScenarioSections<ScenarioConfig> {
  const schema = z.strictObject(sections());
  return {
    schema: schema.superRefine(checkLearner),
    fileSchema: schema.extend({ profiles: profilesKey }).superRefine(checkLearner),
    check: ({ env }) => void checkEnvSpec(env),
    identity: whatCounts,
    environmentFiles: ({ env }, folder) => environmentFiles(env, folder),
    files: ({ model }, folder) => {
      const { broughtFolder, filesOf } = dynamicsKinds.get(model.kind);
      return broughtFolder === undefined ? [] : (filesOf?.(resolve(folder, broughtFolder(model))) ?? []);
    },
  };
}

/** What a run makes no use of changes no result. Runs from before a key was known lack it. */
function whatCounts({ replay, train, ...rest }: Omit<ScenarioConfig, 'seed' | 'workers'>): object {
  const { generative, ...kept } = replay;
  const { offlineUpdates, ...online } = train;
  return {
    ...rest,
    replay: generative ? { ...kept, generative } : kept,
    train: train.mode === 'offline' ? { ...online, offlineUpdates } : online,
  };
}
