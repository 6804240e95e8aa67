// What a scenario of numbers may say: every section, its keys, ranges, defaults and meanings, once. The loader checks against
// this, and the table in docs/scenarios.md is generated from it.

import { resolve } from 'node:path';
import { z } from 'zod';
import type { ScenarioOf, ScenarioSections } from '../core/kind.js';
import { checkEnvSpec, envSpecSchema } from '../env/env-spec.js';
import type { ppoConfigSchema, sacConfigSchema } from '../rl/config.js';
import { learners } from '../rl/learners.js';
import { transitionFormatSchema } from '../synth/export/transition-exports.js';
import { dynamicsKinds, modelSectionSchema } from '../worldmodel/kinds.js';
import {
  autoWorkersKey,
  count,
  nameKey,
  overridesOf,
  pluginsKey,
  positive,
  profilesKey,
  rankKeys,
  sectionsKey,
  seedKey,
  share,
} from './keys.js';

/** A scenario of numbers. */
export type Scenario = ScenarioOf<'vector', ScenarioConfig>;

const selectorSection = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('uniform').describe('Every row is as likely as any other.') }),
    z.strictObject({
      kind: z.literal('prioritized').describe('By temporal-difference error (Schaul et al., 1511.05952).'),
      alpha: share.default(0.6).describe('How much priority counts; 0 is uniform.'),
      beta: share.default(0.4).describe('How much of the bias is corrected by importance weights.'),
    }),
  ])
  .prefault({ kind: 'uniform' })
  .describe('How rows are chosen within a buffer. SAC only.');

const generativeSection = z
  .strictObject({
    share: share
      .gt(0)
      .default(0.5)
      .describe('Share of drawn rows in every batch, once there are any; 1: none but those.'),
    rows: positive.default(50_000).describe('Rows drawn from each diffusion that is fitted.'),
    refitEvery: positive
      .default(10_000)
      .describe('Real rows after which a diffusion is fitted anew to all of them; offline it is fitted once.'),
    updates: positive.default(10_000).describe('Gradient steps of a fit.'),
    hidden: positive.max(4096).default(256).describe('Width of the residual network.'),
    blocks: positive.max(64).default(4).describe('Its residual blocks.'),
    batchSize: positive.default(256).describe('Rows of a gradient step.'),
    lr: z.number().positive().default(1e-3).describe('Step size of Adam.'),
    levels: z
      .int()
      .min(2)
      .max(1000)
      .default(32)
      .describe('Levels of noise a drawn row comes down by; two calls of the network each (2206.00364).'),
  })
  .nullable()
  .default(null)
  .describe(
    'Rows drawn from a diffusion of the real ones, learned from beside them; null: none. With `train.mode` real or offline, and a learner that replays rows.',
  );

const replaySection = z
  .strictObject({
    realCapacity: positive.default(1_000_000).describe('Real transitions kept; the oldest are overwritten.'),
    syntheticCapacity: positive.default(400_000).describe('Simulated transitions kept; the oldest are overwritten.'),
    keepModels: positive
      .nullable()
      .default(4)
      .describe('Simulated transitions leave once so many newer models were fitted; null: they stay.'),
    realRatio: z
      .union([share, z.literal('auto')])
      .default('auto')
      .describe(
        'Share of real rows in every batch SAC sees in dream mode; PPO learns there from simulated rows alone. `auto`: a tenth with a model that explains all of its held-out rows, up to a half with a worse one.',
      ),
    generative: generativeSection,
    selector: selectorSection,
  })
  .prefault({})
  .describe('What is kept, and what a learner is shown of it.');

const vectorFidelitySchema = z
  .strictObject({
    transitions: positive
      .default(10_000)
      .describe('Real transitions that are judged; recorded first where `--data` gives none.'),
    horizon: positive
      .default(50)
      .describe('Steps that are simulated open loop, under the actions that were taken for real.'),
    starts: positive.default(256).describe('Real states that open-loop dreams begin from.'),
    tolerance: z
      .number()
      .positive()
      .default(0.5)
      .describe(
        "Error, in standard deviations of each element, up to which a simulated state counts as the real one's.",
      ),
    rank: z.strictObject(rankKeys).prefault({}).describe('Do policies rank in the dream as they do for real?'),
    sections: sectionsKey,
  })
  .prefault({})
  .describe('`reverie fidelity`: how far the dream is from the real.');

const auto = z.literal('auto');

const horizonSchema = z.union([
  positive,
  z.tuple([count, count, positive, positive]).refine(([from, to]) => from <= to, 'fromStep must not be after toStep'),
  z.literal('auto'),
]);

const rolloutSection = z
  .strictObject({
    horizon: horizonSchema
      .default('auto')
      .describe(
        'Length of a branched rollout, or `[fromStep, toStep, from, to]`: linear in real steps, then constant; `auto`: as many steps as imagined episodes stay near real ones, tried at every refit.',
      ),
    startsPerRound: z
      .union([positive, auto])
      .default('auto')
      .describe(
        'Real states a round of dreaming branches from; `auto`: for about 50,000 simulated rows. With PPO the branches of a cycle run side by side for the whole horizon, and one that ends early is followed by another.',
      ),
    disagreementLimit: z
      .union([z.number().positive(), auto])
      .nullable()
      .default('auto')
      .describe(
        'A branch is truncated where the elites differ by more than this (normalised units); null: never; `auto`: twice what they differ by on nearly all real steps.',
      ),
    range: z
      .number()
      .min(0)
      .nullable()
      .default(1)
      .describe(
        'A branch ends before an observation that lies further beyond the range of the real ones than this many times its width, with SAC and its kin; an episode of a dream that is served or played is truncated there. null: never.',
      ),
    gate: z
      .enum(['auto', 'open'])
      .default('auto')
      .describe(
        'Whether a round uses the world model. `auto`: not with a model that explains too little of held-out rows or less than a simple model; the learner then learns as much from real rows alone. SAC and its kin only.',
      ),
    propagation: z
      .enum(['ts1', 'mean'])
      .default('ts1')
      .describe('One random elite a row and step, or the mean of the elites.'),
    chunkRows: positive
      .default(2048)
      .describe(
        'Rows a worker dreams at once. Results depend on it, and never on the number of workers. With PPO: no meaning, as it dreams in the main thread.',
      ),
  })
  .prefault({})
  .describe('Dreaming: short rollouts in the world model, branched from real states.');

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
  return z
    .discriminatedUnion('algorithm', sections as unknown as OurLearners)
    .prefault({ algorithm: 'sac' })
    .describe('The learner.');
}

const trainKeys = z.strictObject({
  mode: z
    .enum(['real', 'dream', 'offline'])
    .default('dream')
    .describe(
      'Learn from the real environment alone, mostly in the dream, or from the records of `--data` alone, with no real steps but those of evaluations.',
    ),
  realSteps: positive.default(20_000).describe('Budget of steps in the real environment.'),
  initialRandomSteps: z
    .union([count, auto])
    .default('auto')
    .describe(
      'Real steps taken by a uniformly random policy before learning starts; `auto`: 20 for each element of an observation and an action, 100 to 500. PPO takes none in real mode, as it cannot learn from them.',
    ),
  stepsPerRound: z
    .union([positive, auto])
    .default('auto')
    .describe(
      'Real steps of a round, after which there is dreaming and learning; `auto`: a quarter of the random ones, 25 to 100, and 250 with PPO. With PPO in real mode: the rollout of one update.',
    ),
  refitEvery: z
    .union([positive, auto])
    .default('auto')
    .describe(
      'Real steps between refits of the model, in whole rounds; `auto`: once a tenth of the rows is new, or the model is worse on new rows than it was.',
    ),
  refit: z
    .enum(['continue', 'anew'])
    .default('continue')
    .describe('Refit from the last weights (`continue`) or from scratch (`anew`: slower, better on little data).'),
  updatesPerStep: z
    .number()
    .min(0)
    .default(1)
    .describe(
      'Gradient updates for each real step, in real mode. SAC only: PPO makes `rl.epochs` passes over each rollout.',
    ),
  updatesPerRound: z
    .union([count, auto])
    .default('auto')
    .describe(
      'Gradient updates after each round of dreaming, in dream mode, and of a round offline; `auto`: 40 a real step. SAC only: PPO makes `rl.epochs` passes over each rollout.',
    ),
  offlineUpdates: positive
    .default(50_000)
    .describe('Gradient updates in all, in offline mode; evaluated after every `updatesPerRound`.'),
  cyclesPerRound: z
    .union([positive, auto])
    .default('auto')
    .describe(
      'Times dreaming and learning alternate within a round; `auto`: every 500 updates, and once with PPO. Starts and updates are shared out among them. With PPO: simulated rollouts, each of one update.',
    ),
  checkpointSeconds: z
    .number()
    .min(0)
    .default(20)
    .describe('Seconds between checkpoints, taken between rounds; 0: after every round. Never changes results.'),
  keepPolicyEvery: positive
    .nullable()
    .default(null)
    .describe(
      'Real steps between learners that are kept as they were, in `policies/` of the run; null: the last alone, in its checkpoint. `reverie fidelity --checkpoint RUN` ranks them all.',
    ),
  evalEvery: z
    .union([positive, auto])
    .default('auto')
    .describe(
      'Real steps between evaluations; evaluation steps are not counted; `auto`: after every second round, and with PPO after every one.',
    ),
  evalEpisodes: positive.default(5).describe('Real episodes an evaluation runs.'),
  threshold: z.number().nullable().default(null).describe('Mean real return that counts as solved; null: none.'),
  stopAtThreshold: z
    .boolean()
    .default(false)
    .describe('End the run at the first evaluation that reaches the threshold.'),
});
const trainSection = trainKeys.prefault({}).describe('The training run.');

const collectSection = z
  .strictObject({
    policy: z
      .enum(['random', 'checkpoint'])
      .default('random')
      .describe('Policy used for recording: random, or a trained one (`checkpoint`).'),
    steps: positive.default(10_000).describe('Real steps to record.'),
  })
  .prefault({})
  .describe('`reverie collect`: recording the real environment.');

const evalSection = z
  .strictObject({
    episodes: positive.default(10).describe('Real episodes to run.'),
    deterministic: z.boolean().default(true).describe("Act by the policy's mode instead of sampling."),
  })
  .prefault({})
  .describe('`reverie eval`, and the evaluations within a training run.');

/** Of the formats that are registered now. */
function synthSection() {
  return z
    .strictObject({
      starts: positive.default(10_000).describe('Recorded states to branch from, drawn at random.'),
      episodes: z
        .boolean()
        .default(false)
        .describe(
          "Dream whole episodes, as long as the environment's, in place of branches of `rollout.horizon` steps.",
        ),
      export: z
        .array(transitionFormatSchema())
        .default(['parquet'])
        .describe('Datasets to write beside the replay snapshot.'),
    })
    .prefault({})
    .describe('`reverie synth`: a dataset simulated by a world model.');
}

/** What the dream is compared with besides the learner from scratch: that with many updates, and other learners. */
function quickstartSection() {
  const trained = learners.list().filter(({ learnsFrom }) => learnsFrom === 'replay' || learnsFrom === 'rollouts');
  return z
    .strictObject({
      seeds: positive.default(3).describe('Seeds each way of training is run with: `seed`, `seed` + 1, ...'),
      finalEpisodes: positive.default(20).describe('Real episodes the trained policy is judged by at the end.'),
      fromScratch: overridesOf(
        trainKeys.omit({ mode: true, threshold: true, stopAtThreshold: true, offlineUpdates: true }),
      )
        .default({})
        .describe('Keys of `train` that differ when the same learner is trained from scratch, in real mode.'),
      baselines: z
        .array(z.enum(['many-updates', ...trained.map(({ name }) => name)]))
        .default(['many-updates'])
        .describe(
          'What the dream is compared with besides the learner from scratch: `many-updates`, the same learner on real rows alone (`replay.realRatio: 1`) with as many updates as in the dream; or other learners from scratch. The best of all counts.',
        ),
    })
    .prefault({})
    .describe('`reverie quickstart`: warm-started in the dream against the best of the baselines.');
}

function sections() {
  return {
    family: z
      .literal('vector')
      .optional()
      .describe('Rows of numbers; `tools` scenarios have other sections (docs/tools.md).'),
    name: nameKey,
    description: z.string().default('').describe('One sentence on what is to be learned.'),
    plugins: pluginsKey,
    env: envSpecSchema().describe('The real environment: a known id with options, or a body of your own (see below).'),
    model: modelSectionSchema().prefault({ kind: 'ensemble' }).describe('The world model.'),
    rollout: rolloutSection,
    replay: replaySection,
    rl: rlSection(),
    train: trainSection,
    collect: collectSection,
    eval: evalSection,
    synth: synthSection(),
    fidelity: vectorFidelitySchema,
    quickstart: quickstartSection(),
    seed: seedKey,
    workers: autoWorkersKey(
      'Worker threads for dreaming, fitting and writing datasets; 0: in the main thread; auto: `synth` takes the cores there are, every other job none. Never changes results.',
    ),
  };
}

/** Of the environments, dynamics and learners that are registered now. */
function scenarioSchemas() {
  return {
    /** The effective configuration of a run: one profile applied, overrides applied, defaults filled in. */
    schema: z.strictObject(sections()).superRefine(checkLearner),
    /** A scenario file: the same, and named profiles, each a partial scenario laid over the rest by `--profile`. */
    fileSchema: z.strictObject({ ...sections(), profiles: profilesKey }).superRefine(checkLearner),
  };
}

export type ScenarioConfig = z.output<ReturnType<typeof scenarioSchemas>['schema']>;

type Checked = Pick<z.output<z.ZodObject<ReturnType<typeof sections>>>, 'rl' | 'train' | 'replay'>;

/** Real steps of a round where a scenario leaves them open to a learner of rollouts. */
const ROLLOUT_STEPS = 250;

/** What a learner can learn from: records and drawn rows are for learners of rows, rollouts are real, and a planner plans in a model. */
function checkLearner({ rl, train, replay }: Checked, context: z.RefinementCtx): void {
  const { name, learnsFrom } = learners.get(rl.algorithm);
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const who = name.toUpperCase();
  if (train.mode === 'offline' && learnsFrom !== 'replay')
    refuse(['rl', 'algorithm'], `${name} does not learn from records; td3-bc is made for train.mode offline`);
  if (train.mode === 'offline' && train.updatesPerRound === 0)
    refuse(['train', 'updatesPerRound'], 'offline, a round is its updates; set it to 1 or more');
  if (replay.generative !== null) {
    const path = ['replay', 'generative'];
    if (learnsFrom !== 'replay')
      refuse(path, `${name} does not replay rows; set it to null, or choose a learner that does`);
    if (train.mode === 'dream')
      refuse(path, 'the world model simulates rows already; set train.mode to real or offline');
  }
  if (learnsFrom === 'model' && train.mode === 'real')
    refuse(['train', 'mode'], `${who} plans in a world model; set train.mode to dream`);
  if (learnsFrom !== 'rollouts') return;
  if (train.mode === 'dream')
    refuse(['train', 'mode'], `${who} learns from rollouts of the real environment alone; set train.mode to real`);
  const rows = train.stepsPerRound === 'auto' ? ROLLOUT_STEPS : train.stepsPerRound;
  if (typeof rl.batchSize === 'number' && rows < rl.batchSize) {
    const needs = `${who} learns from batches of ${rl.batchSize} rows (rl.batchSize)`;
    refuse(['train', 'stepsPerRound'], `${needs}, and a round gives ${rows}`);
  }
}

/** As they are now: plugins add to them. */
export function vectorSections(): ScenarioSections<ScenarioConfig> {
  return { ...scenarioSchemas(), check: ({ env }) => void checkEnvSpec(env), identity: whatCounts, files: namedFiles };
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

function namedFiles({ env, model }: ScenarioConfig, folder: string): string[] {
  const mjcf = (env as { mjcf?: unknown }).mjcf;
  const files = typeof mjcf === 'string' ? [resolve(folder, mjcf)] : [];
  const { broughtFolder, filesOf } = dynamicsKinds.get(model.kind);
  if (broughtFolder !== undefined) files.push(...(filesOf?.(resolve(folder, broughtFolder(model))) ?? []));
  return files;
}
