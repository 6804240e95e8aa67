// What a scenario of tools may say: a domain of tools, who simulates it, who acts in it, and what is made of its episodes. Sections
// that belong to a room are that room's own schemas.

import { resolve } from 'node:path';
import { z } from 'zod';
import type { ScenarioOf, ScenarioSections } from '../core/kind.js';
import { domainFiles, domainSpecSchema, loadNamedDomains } from '../env/tools/domains.js';
import { faultsSchema } from '../env/tools/faults.js';
import { llmConfigSchema } from '../llm/config.js';
import { experienceSchema } from '../replay/experience/experience.js';
import { episodeLogFiles } from '../replay/experience/logs/read-episode-logs.js';
import { groupEstimators } from '../rl/group-estimators.js';
import { relevanceSchema } from '../rl/text/relevance.js';
import { episodeFormatSchema } from '../synth/export/episodes/export-episodes.js';
import { hackerSchema } from '../synth/hacker/find-tricks.js';
import { qualitySchema } from '../synth/quality/quality-config.js';
import { tasksSchema } from '../synth/tasks/tasks-schema.js';
import { judgeSchema } from '../worldmodel/reward/judge.js';
import { backendFiles } from '../worldmodel/tools/router.js';
import { toolsModelSchema } from '../worldmodel/tools/tools-model-schema.js';
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
  positive,
  profilesKey,
  section,
  seedKey,
  share,
} from './keys.js';

/** A scenario of messages and tool calls. */
export type ToolsScenario = ScenarioOf<'tools', ToolsScenarioConfig>;

/** An agent, as `kind` has it, with keys of its own. */
const agentOf = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, about: string, shape: Shape) =>
  z.strictObject({ kind: z.literal(kind).describe(about), ...shape });
const temperature = z.number().min(0).max(2).default(0.7).describe('Sampling temperature.');

const agentSection = chosenBy(
  'kind',
  'reference',
  z.discriminatedUnion('kind', [
    agentOf('reference', "Makes each task's reference calls; needs no language model.", {
      error: share.default(0).describe('Probability, for each call, of getting it wrong: data of failures.'),
    }),
    agentOf('scripted', "Goes about each task in one of many ways, in the domain's phrases; no language model.", {
      detours: share.default(0.4).describe('Probability of each further look around.'),
      failures: share.default(0.1).describe("Probability that an episode goes as one of the task's known failures."),
    }),
    agentOf('random', 'Calls tools at random: the floor.', {
      steps: positive.default(6).describe('Calls before it says good-bye.'),
      offered: z.boolean().optional().describe('Among what the world offers, where it tells, not by schemas of tools.'),
    }),
    agentOf('explorer', 'Finds out what a world of text does, where its rules know all commands: for records.', {
      guesses: share.default(0.5).describe('Share of commands that it guesses; most are refused.'),
      follows: share.default(0.5).describe("Share of episodes that begin with part of the task's solution."),
    }),
    agentOf('guided', 'A language model that walks over screens by sub-goals of its own: walks for `synth.wrap`.', {
      goalKinds: z
        .array(z.string().min(1).max(400))
        .optional()
        .describe('Kinds of goals, a sentence each, beside those of any application and of the domain.'),
      subgoals: positive.default(5).describe('Sub-goals of a walk at most.'),
      temperature,
    }),
    agentOf('llm', 'A language model with tools (`llm`, `roles.agent`).', {
      temperature,
      maxTokens: positive.default(4096).describe('Tokens of one turn, with reasoning.'),
      tokens: z.boolean().optional().describe('Keep turns as token ids with log-probabilities too (vLLM, SGLang).'),
    }),
  ]),
)
  .prefault({ kind: 'reference' })
  .describe('Who acts.');

const subjectSchema = z.strictObject({
  name: z.string().min(1).describe('Name in the report.'),
  model: z.looseObject({}).default({}).describe('Keys of `model` that differ.'),
  llm: z.looseObject({}).optional().describe('Keys of `llm` that differ.'),
});

const fidelitySection = section('`reverie fidelity`: how far the dream is from the real.', {
  questions: positive.default(500).describe('Calls that the model is asked, each with a known true answer.'),
  truth: oneOf(['rules', 'recorded'], "What is held against: the domain's exact rules, or recorded episodes."),
  recorded: orNull(z.string()).describe('Recorded episodes, relative to the scenario; null: `experience.logs`.'),
  episodes: positive.default(50).describe('Episodes run in the simulation and then for real.'),
  subjects: z.array(subjectSchema).default([]).describe('Further models to judge beside the one of the scenario.'),
  repeats: positive
    .default(1)
    .describe('Times each question is asked, with other seeds: what of an error is sampling.'),
  tolerance: share.default(0.2).describe('Probability of a wrong state that the trust horizon allows.'),
  noise: section('Noise of rewards: tasks are repeated with one redrawn source of randomness at a time.', {
    tasks: positive.default(8).describe('Number of tasks.'),
    repeats: count.default(2).describe('Repetitions of each task for each source; 0: none.'),
  }),
  ...judgedKeys('Do agents rank in the dream as they do for real?'),
});

const splits = z.array(z.enum(['train', 'validation', 'test'])).min(1);

function rlSection() {
  return section('`reverie train`: who learns to choose among admissible commands, and how.', {
    algorithm: z
      .enum(groupEstimators.names() as [string, ...string[]])
      .default('grpo')
      .describe('What a choice is compared with: its group (`grpo`, `gigpo`, `rloo`), or a critic (`ppo`).'),
    lr: above0.default(5e-4).describe('Step size of Adam.'),
    epochs: positive.default(2).describe('Passes over the episodes of a round.'),
    clipLow: share.default(0.2).describe('How far the probability of a choice may fall in a round and still count.'),
    clipHigh: from0.default(0.28).describe('How far it may grow; more than `clipLow` keeps rare choices (DAPO).'),
    klCoefficient: from0.default(0).describe('Weight of KL to the policy as it was after imitation.'),
    entropyCoefficient: from0.default(0).describe('Weight of entropy as a reward.'),
    normalise: flag(true, "grpo, gigpo: divide by the group's standard deviation; false: Dr. GRPO (2503.20783)."),
    gamma: share.default(0.95).describe('gigpo, ppo: discount of a reward one step later.'),
    gaeLambda: share.optional().describe("ppo: how far advantages look ahead (GAE's lambda); default 0.95."),
    valueCoefficient: from0.optional().describe("ppo: weight of the critic's error; default 0.5."),
    rewards: z
      .enum(['paid', 'verdict'])
      .optional()
      .describe(
        '`paid`: what the world pays on the way and at the end (default); `verdict`: 1 where the episode is won.',
      ),
    relevance: relevanceSchema
      .prefault({})
      .describe('The network: scores each command by its words and those of the situation (as DRRN, 1511.04636).'),
  });
}

const gatherSection = z
  .strictObject({
    episodes: positive.describe('Real episodes each time, all of whose steps count as real.'),
    agent: agentSection.describe('Who acts the first time; later it is the policy of the moment.'),
    every: positive.default(20).describe('mode interleaved: rounds between two times.'),
    heldOut: share.max(0.5).default(0.2).describe('Share of the episodes that the dream is only compared with.'),
  })
  .describe('Records that the simulation is made of: before the first round, and in mode interleaved again and again.');

const valueSection = z
  .strictObject({
    epochs: positive.default(20).describe('Passes over the recorded choices.'),
    lr: above0.default(2e-3).describe('Step size of Adam in these.'),
    situations: positive.default(64).describe('Recorded situations of a round, `groupSize` draws each.'),
  })
  .describe('mode value: the policy learns from what recorded choices came to alone (VEM, 2502.18906).');

const growSection = z
  .strictObject({
    band: z
      .tuple([share, share])
      .default([0.25, 0.75])
      .refine(([least, most]) => least < most, 'the first must be below the second')
      .describe('Share of lost episodes of a family, from and to: its tasks are taken more often.'),
    replay: share.default(0.25).describe('Share of the tasks of a round that are taken in turn all the same.'),
    window: positive.default(16).describe('Last episodes of a family that count.'),
  })
  .describe('More of the tasks neither always won nor always lost (UI-Simulator-Grow, 2510.14969); absent: in turn.');

const trainSection = section('`reverie train` in a world of text: imitation, then groups of episodes.', {
  mode: oneOf(
    ['real', 'dream', 'dream-then-real', 'interleaved', 'value'],
    'Where it learns: in the exact rules; where `model` answers; there and then for `realRounds` in the rules; there with `gather` every so many rounds; or from a model of what recorded choices came to. It is judged in the rules.',
  ),
  domain: z.looseObject({}).default({}).describe('Keys of `domain` that differ in training.'),
  model: z.looseObject({}).optional().describe('Keys of `model` that differ in the dream of a training.'),
  gather: gatherSection.optional(),
  value: valueSection.optional(),
  realRounds: count
    .optional()
    .describe('mode dream-then-real: rounds in the exact rules, at the end; default: `rounds`.'),
  splits: splits.default(['train']).describe('Splits whose tasks are learned from.'),
  evalSplits: splits.default(['validation']).describe('Splits whose tasks it is judged on: others than in `splits`.'),
  evalTasks: positive.default(40).describe('Tasks of an evaluation, evenly spaced, an episode each.'),
  evalEvery: positive.default(10).describe('Rounds between evaluations.'),
  evalChoice: oneOf(['sample', 'mode'], 'Evaluations draw choices as training does, or take the most probable.'),
  checkEpisodes: count
    .default(40)
    .describe('Modes that dream: episodes run twice at an evaluation, simulated and real.'),
  cloneTasks: count.default(0).describe('Tasks whose reference is imitated first, evenly spaced; 0: none.'),
  cloneEpochs: positive.default(10).describe('Passes over these.'),
  cloneDetours: count.default(0).describe('Places that a walkthrough is shown to look into in vain first, at most.'),
  cloneLr: above0.default(2e-3).describe('Step size of Adam in these.'),
  rounds: count.default(100).describe('Rounds of acting and learning; 0: imitation alone.'),
  tasksPerRound: positive.default(8).describe('Groups of a round, a task each.'),
  grow: growSection.optional(),
  groupSize: z.int().min(2).default(8).describe('Episodes of a group: they begin alike.'),
  checkpointSeconds: from0.default(20).describe('Seconds between checkpoints, between rounds. Never changes results.'),
});

/** Who asks the language model, so that each may be given another one. */
const LLM_ROLES = ['world', 'agent', 'user', 'judge', 'tasks'] as const;
export type LlmRole = (typeof LLM_ROLES)[number];

const roleKeys = LLM_ROLES.map((role) => [
  role,
  z.looseObject({}).optional().describe(`Keys of \`llm\` that differ for: ${role}.`),
]);
const rolesSection = section(
  'Another model, or other settings, for one of those who ask.',
  Object.fromEntries(roleKeys) as Record<LlmRole, z.ZodOptional<z.ZodObject>>,
);

const userSection = section('Who talks to the agent.', {
  kind: oneOf(['scripted', 'llm'], "The task's script, or a language model that pursues the task's hidden goal."),
  varied: flag(false, "Whether a script is said in the domain's phrases, by another user for each seed."),
  maxTurns: positive.default(20).describe('Messages of a user before the episode is cut off.'),
  patience: orNull(positive).describe('Messages of a user before it loses patience and leaves; null: never.'),
  friction: share.default(0).describe('Share of its answers that are short, vague, impatient or withholding.'),
});

const rewardSection = section('What an episode was worth: exact checks first, then an audited judge.', {
  judge: orNull(judgeSchema).describe('A judge for what verifiers leave open; null: it stays open.'),
  mustFail: section('The must-fail suite: a simulator that plays along with the impossible cannot mint reward.', {
    limit: share.default(0.95).describe('Share of probes that must be passed for episodes to be given a reward.'),
    enabled: flag(true, 'Whether the suite runs against the backends before any episode.'),
  }),
  mustSucceed: section('The must-succeed suite: what does not do the possible makes no rewards or datasets.', {
    limit: share
      .default(0.5)
      .describe('Share of possible calls that must be answered rightly for anything to be kept.'),
    enabled: flag(true, 'Whether calls of solutions are put to the backends before any episode.'),
  }),
  hacker: hackerSchema,
});

const budgetSection = section('What may be spent; a budget that is spent ends the run cleanly. null: no limit.', {
  calls: orNull(positive).describe('Calls of language models; answers from the cache are none.'),
  tokens: orNull(positive).describe('Prompt and completion tokens.'),
  money: orNull(above0).describe('In the currency of `llm.prices`.'),
  seconds: orNull(above0).describe('Wall time.'),
});

const wrapSection = z
  .strictObject({
    judges: count
      .optional()
      .describe('Judges who must all find that a walk does what its instruction says; default 3.'),
  })
  .optional()
  .describe(
    'Each walk over screens becomes a task that it solves, with an instruction and thoughts (UI-Simulator, 2510.14969); `roles.tasks` writes them, and what cannot be done again is refused.',
  );

const synthSection = section('`reverie synth`: episodes run in the simulation, as datasets.', {
  episodes: positive.default(100).describe('Episodes to run: the rows of the job.'),
  mode: oneOf(['turns', 'amplify'], 'Turn by turn (faithful), or whole trajectories in one call each (cheap; Simia).'),
  groupSize: positive.default(1).describe('Episodes that begin alike: same task, same environment seed.'),
  branchAt: count.default(0).describe('Turns that a group shares before its episodes part.'),
  maxSteps: positive.default(30).describe("An agent's turns before an episode is truncated."),
  pick: oneOf(['cycle', 'curriculum'], 'Tasks in turn, or drawn by `tasks.curriculum` from what became of others.'),
  splits: splits.default(['train']).describe('Splits whose tasks are run; the others are kept for evaluation.'),
  license: z.string().min(1).default('other').describe('Licence identifier that the dataset card carries.'),
  export: z.array(episodeFormatSchema).default(['openai', 'parquet']).describe('Datasets to write.'),
  earlyExperience: section('Early Experience (2510.08558): what else could have been done, and what follows.', {
    counterfactuals: count.default(0).describe('Other actions tried at each state of a successful episode; 0: none.'),
    reflections: flag(false, 'Also write why the better action is better; needs `llm`.'),
  }),
  wrap: wrapSection,
  budget: budgetSection,
});

/** Of the domains that are known now. */
function sections() {
  return {
    family: z.literal('tools').describe('Messages and typed tool calls over a state.'),
    ...headKeys('what the domain is'),
    domain: domainSpecSchema()
      .prefault({})
      .describe('What is simulated: a folder of its files, or a domain that a pack or plugin has a name for.'),
    llm: orNull(llmConfigSchema).describe('The language model that everybody uses; null: none.'),
    roles: rolesSection,
    cache: orNull(z.string()).describe(
      "Folder of kept replies, which repeats a run; null: `cache` in the run's folder.",
    ),
    model: toolsModelSchema().prefault({}).describe('Who answers calls, in which order, and what is believed.'),
    experience: experienceSchema,
    agent: agentSection,
    user: userSection,
    faults: faultsSchema,
    reward: rewardSection,
    tasks: tasksSchema,
    quality: qualitySchema,
    synth: synthSection,
    fidelity: fidelitySection,
    rl: rlSection(),
    train: trainSection,
    seed: seedKey,
    workers: count
      .default(0)
      .describe(
        'Where language models are waited for: episodes under way at once, 0: 32. Where rows only compute (exact rules, scripted users): worker threads, at most 256; 0: in the main thread. Never changes results.',
      ),
  };
}

type Sections = z.ZodObject<ReturnType<typeof sections>, z.core.$strict>;
export type ToolsScenarioConfig = z.output<Sections>;

/** What asks a language model needs one; a value model is made of records, held against others, and compares choices in a situation. */
function checkNeeds(
  { llm, agent, user, reward, synth, rl, train, faults = [] }: ToolsScenarioConfig,
  context: z.RefinementCtx,
): void {
  const refuse = (path: string, message: string) =>
    context.addIssue({ code: 'custom', path: path.split('.'), message });
  const askers: readonly (readonly [boolean, string, string])[] = [
    [agent.kind === 'llm' || agent.kind === 'guided', 'agent.kind', `an agent of kind ${agent.kind}`],
    [synth.wrap !== undefined, 'synth.wrap', 'wrapping walks'],
    [user.kind === 'llm', 'user.kind', 'a user of kind llm'],
    [reward.judge !== null, 'reward.judge', 'a judge'],
    [synth.mode === 'amplify', 'synth.mode', 'amplification'],
    [synth.earlyExperience.reflections, 'synth.earlyExperience.reflections', 'reflection'],
  ];
  for (const [asks, path, who] of askers) if (asks && llm === null) refuse(path, `${who} needs a language model (llm)`);
  if (faults.length > 0 && synth.mode === 'amplify')
    refuse('faults', 'whole trajectories (synth.mode amplify) are written without a call that could go wrong');
  if (train.mode !== 'value') return;
  if (train.gather === undefined)
    refuse('train.mode', 'mode value learns from records: say in train.gather who records them');
  else if (train.gather.heldOut === 0)
    refuse('train.gather.heldOut', 'mode value judges its model on episodes held out: above 0');
  if (groupEstimators.get(rl.algorithm).hasCritic)
    refuse('rl.algorithm', `mode value compares choices in a situation: grpo, rloo or gigpo, not ${rl.algorithm}`);
}

/** As they are once the domains are loaded that the layers of a scenario name. */
export async function toolsSections(
  layers: readonly Readonly<Record<string, unknown>>[],
): Promise<ScenarioSections<ToolsScenarioConfig>> {
  await loadNamedDomains(layers.map(({ domain }) => domain));
  const schema = z.strictObject(sections());
  return {
    schema: schema.superRefine(checkNeeds),
    fileSchema: schema.extend({ profiles: profilesKey }).superRefine(checkNeeds),
    identity,
    files: (config, folder) => [
      ...domainFiles(config.domain, folder),
      ...episodeLogFiles(config.experience, folder),
      ...backendFiles(config.model).map((file) => resolve(folder, file)),
    ],
  };
}

/**
 * Which model answers, from where and at what price, is told by the versions recorded with everything it answers, so that a
 * run can be repeated from its cache.
 */
function identity(config: Omit<ToolsScenarioConfig, 'seed' | 'workers'>): object {
  const { llm: _llm, roles: _roles, cache: _cache, ...rest } = config;
  const { budget: _budget, export: _export, ...synth } = config.synth;
  return { ...rest, synth };
}
