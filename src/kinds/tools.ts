// What a scenario of tools may say: a domain of tools, who simulates it, who acts in it, and what is made of its episodes. Sections
// that belong to a room are that room's own schemas.

import { resolve } from 'node:path';
import { z } from 'zod';
import type { ScenarioOf, ScenarioSections } from '../core/kind.js';
import { domainFiles, domainSpecSchema, loadNamedDomains } from '../env/tools/domains.js';
import { llmConfigSchema } from '../llm/config.js';
import { experienceSchema } from '../replay/experience/experience.js';
import { episodeLogFiles } from '../replay/experience/logs/read-episode-logs.js';
import { groupEstimators } from '../rl/group-estimators.js';
import { relevanceSchema } from '../rl/text/relevance.js';
import { recipeSchema } from '../synth/episodes/recipes.js';
import { episodeFormatSchema } from '../synth/export/episodes/export-episodes.js';
import { hackerSchema } from '../synth/hacker/find-tricks.js';
import { qualitySchema } from '../synth/quality/quality-config.js';
import { tasksSchema } from '../synth/tasks/tasks-schema.js';
import { judgeSchema } from '../worldmodel/reward/judge.js';
import { backendFiles } from '../worldmodel/tools/router.js';
import { toolsModelSchema } from '../worldmodel/tools/tools-model-schema.js';
import {
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
  workersKey,
} from './keys.js';

/** A scenario of messages and tool calls. */
export type ToolsScenario = ScenarioOf<'tools', ToolsScenarioConfig>;

const agentSection = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('reference').describe("Makes each task's reference calls; needs no language model."),
      error: share.default(0).describe('Probability, for each call, of getting it wrong: data of failures.'),
    }),
    z.strictObject({
      kind: z
        .literal('scripted')
        .describe("Goes about each task in one of many ways, in the domain's phrases; needs no language model."),
      detours: share.default(0.4).describe('Probability of each further look around.'),
      failures: share
        .default(0.1)
        .describe("Probability that an episode goes as one of the task's known failures does."),
    }),
    z.strictObject({
      kind: z.literal('random').describe('Calls tools at random: the floor.'),
      steps: positive.default(6).describe('Calls before it says good-bye.'),
      offered: z
        .boolean()
        .optional()
        .describe('Among what the world offers at the moment, where it tells, and not by the schemas of its tools.'),
    }),
    z.strictObject({
      kind: z
        .literal('explorer')
        .describe('Finds out what a world of text does, where its rules know all commands: for records to learn from.'),
      guesses: share.default(0.5).describe('Share of commands that it guesses; most are refused.'),
      follows: share
        .default(0.5)
        .describe("Share of episodes that begin with the task's solution, guesses aside, up to any place in it."),
    }),
    z.strictObject({
      kind: z
        .literal('guided')
        .describe(
          'A language model that walks over screens from one sub-goal of its own to the next (`llm`, `roles.agent`): walks for `synth.wrap`.',
        ),
      goalKinds: z
        .array(z.string().min(1).max(400))
        .optional()
        .describe('Kinds of goals, a sentence each, beside those of any application and of the domain.'),
      subgoals: positive.default(5).describe('Sub-goals of a walk at most.'),
      temperature: z.number().min(0).max(2).default(0.7).describe('Sampling temperature.'),
    }),
    z.strictObject({
      kind: z.literal('llm').describe('A language model with tools (`llm`, `roles.agent`).'),
      temperature: z.number().min(0).max(2).default(0.7).describe('Sampling temperature.'),
      maxTokens: positive.default(1024).describe('Tokens of one turn.'),
      tokens: z
        .boolean()
        .optional()
        .describe('Keep turns as token ids with log-probabilities too (vLLM, SGLang), for `synth.export: [tokens]`.'),
    }),
  ])
  .prefault({ kind: 'reference' })
  .describe('Who acts.');

const toolsFidelitySchema = z
  .strictObject({
    questions: positive.default(500).describe('Calls that the model is asked, each with a known true answer.'),
    truth: z
      .enum(['rules', 'recorded'])
      .default('rules')
      .describe("What dreams are held against: the domain's exact rules, or recorded episodes."),
    recorded: z
      .string()
      .nullable()
      .default(null)
      .describe('File or folder of recorded episodes, relative to the scenario; null: those of `experience.logs`.'),
    episodes: positive.default(50).describe('Episodes run in the simulation and then for real.'),
    subjects: z
      .array(
        z.strictObject({
          name: z.string().min(1).describe('Name in the report.'),
          model: z.looseObject({}).default({}).describe('Keys of `model` that differ.'),
          llm: z.looseObject({}).optional().describe('Keys of `llm` that differ.'),
        }),
      )
      .default([])
      .describe('Further models to judge beside the one of the scenario.'),
    repeats: positive
      .default(1)
      .describe('Times each question is asked with other seeds: how much of an error is mere sampling.'),
    tolerance: share.default(0.2).describe('Probability of a wrong state that the trust horizon allows.'),
    rank: z.strictObject(rankKeys).prefault({}).describe('Do agents rank in the dream as they do for real?'),
    sections: sectionsKey,
  })
  .prefault({})
  .describe('`reverie fidelity`: how far the dream is from the real.');

const splits = z.array(z.enum(['train', 'validation', 'test'])).min(1);

const rewards = z
  .enum(['paid', 'verdict'])
  .optional()
  .describe(
    'What is learned from: `paid`, what the world pays on the way and at the end (the default); or `verdict`, 1 where the episode was won and else 0, for worlds that pay less than nothing for a try that failed and nothing for none.',
  );
const gaeLambda = share
  .optional()
  .describe("ppo: how far advantages look past the next step (GAE's lambda); default 0.95.");

function textRlSchema() {
  return z
    .strictObject({
      algorithm: z
        .enum(groupEstimators.names() as [string, ...string[]])
        .default('grpo')
        .describe(
          'How much better a choice was than the rest of its group: `grpo`, `gigpo` or `rloo`; or than a critic expected: `ppo`.',
        ),
      lr: z.number().positive().default(5e-4).describe('Step size of Adam.'),
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
      gamma: share.default(0.95).describe('gigpo, ppo: discount of a reward one step later.'),
      gaeLambda,
      valueCoefficient: z.number().min(0).optional().describe("ppo: weight of the critic's error; default 0.5."),
      rewards,
      relevance: relevanceSchema
        .prefault({})
        .describe(
          'The network: scores each admissible command by its words and those of the situation (in the class of DRRN, 1511.04636).',
        ),
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
    'Records that the simulation is made of: collected before the first round, and in mode interleaved again and again.',
  );

const valueSection = z
  .strictObject({
    epochs: positive.default(20).describe('Passes over the recorded choices.'),
    lr: z.number().positive().default(2e-3).describe('Step size of Adam in these.'),
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
  })
  .describe(
    'Takes more of the tasks that the policy of the moment neither always wins nor always loses, others of the same family (UI-Simulator-Grow, 2510.14969); absent: all in turn.',
  );

const trainKeys = z.strictObject({
  mode: z
    .enum(['real', 'dream', 'dream-then-real', 'interleaved', 'value'])
    .default('real')
    .describe(
      'Where it learns: in the exact rules of the domain; where `model` answers; there and then for `realRounds` in the rules; there with `gather` every so many rounds; or, with no steps but those of records, from a model of what choices came to (`value`). It is judged in the rules.',
    ),
  domain: z.looseObject({}).default({}).describe('Keys of `domain` that differ in training.'),
  model: z.looseObject({}).optional().describe('Keys of `model` that differ in the dream of a training.'),
  gather: gatherSection.optional(),
  value: valueSection.optional(),
  realRounds: count
    .optional()
    .describe('mode dream-then-real: rounds in the exact rules, after the others; default: as many as `rounds`.'),
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
      'Modes that dream: episodes run twice beside an evaluation, in the simulation and in the exact rules, to find where the simulation goes wrong; nothing is learned from them. 0: none.',
    ),
  cloneTasks: count.default(0).describe('Tasks whose reference is imitated first, evenly spaced; 0: none.'),
  cloneEpochs: positive.default(10).describe('Passes over these.'),
  cloneDetours: count
    .default(0)
    .describe(
      'Most places that a walkthrough is shown to look into in vain before the right one, once as it is and once with searches; 0: as it is.',
    ),
  cloneLr: z.number().positive().default(2e-3).describe('Step size of Adam in these.'),
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

const textTrainSchema = trainKeys
  .prefault({})
  .describe('`reverie train` in a world of text: imitation, then groups of episodes.');

const quickstartKeys = trainKeys.omit({ mode: true, realRounds: true });

const textQuickstartSchema = z
  .strictObject({
    seeds: positive.default(2).describe('Seeds each way of training is run with: `seed`, `seed` + 1, ...'),
    train: overridesOf(quickstartKeys)
      .default({})
      .describe('Keys of `train` that differ here, in both ways of training.'),
    realOnly: overridesOf(quickstartKeys.pick({ rounds: true, evalEvery: true }))
      .default({})
      .describe('Keys of `train` that differ once more where all rounds run in the exact rules.'),
  })
  .prefault({})
  .describe(
    '`reverie quickstart` of a world of text: as many rounds in a dream of a few real episodes and in the exact rules.',
  );

/** Who asks the language model, so that each may be given another one. */
export const LLM_ROLES = ['world', 'agent', 'user', 'judge', 'tasks'] as const;
export type LlmRole = (typeof LLM_ROLES)[number];

const userSection = z
  .strictObject({
    kind: z
      .enum(['scripted', 'llm'])
      .default('scripted')
      .describe("The task's script, or a language model that pursues the task's hidden goal."),
    varied: z
      .boolean()
      .default(false)
      .describe("Whether a script is said in the domain's phrases, by another user for each seed."),
    maxTurns: positive.default(20).describe('Things a user says before it gives up.'),
  })
  .prefault({})
  .describe('Who talks to the agent.');

const mustFailSection = z
  .strictObject({
    limit: share.default(0.95).describe('Share of probes that must be passed for episodes to be given a reward.'),
    enabled: z.boolean().default(true).describe('Whether the suite runs against the backends before any episode.'),
  })
  .prefault({})
  .describe('The must-fail suite: a simulator that plays along with the impossible cannot mint reward.');

const mustSucceedSection = z
  .strictObject({
    limit: share
      .default(0.5)
      .describe('Share of possible calls that must be answered, and rightly, for anything to be kept.'),
    enabled: z
      .boolean()
      .default(true)
      .describe('Whether calls of solutions are put to the backends before any episode.'),
  })
  .prefault({})
  .describe(
    'The must-succeed suite: a simulator that does not do what is possible, or answers what is not so, makes no rewards and no datasets.',
  );

const rewardSection = z
  .strictObject({
    judge: judgeSchema.nullable().default(null).describe('A judge for what verifiers leave open; null: it stays open.'),
    mustFail: mustFailSection,
    mustSucceed: mustSucceedSection,
    hacker: hackerSchema,
  })
  .prefault({})
  .describe('What an episode was worth: exact checks first, then an audited judge.');

const budgetSection = z
  .strictObject({
    calls: positive.nullable().default(null).describe('Calls of language models; answers from the cache are none.'),
    tokens: positive.nullable().default(null).describe('Prompt and completion tokens.'),
    money: z.number().positive().nullable().default(null).describe('In the currency of `llm.prices`.'),
    seconds: z.number().positive().nullable().default(null).describe('Wall time.'),
  })
  .prefault({})
  .describe('What may be spent; a budget that is spent ends the run cleanly. null: no limit.');

const earlyExperienceSection = z
  .strictObject({
    counterfactuals: count.default(0).describe('Other actions tried at each state of a successful episode; 0: none.'),
    reflections: z.boolean().default(false).describe('Also write why the better action is better; needs `llm`.'),
  })
  .prefault({})
  .describe('Early Experience (2510.08558): what else could have been done, and what would have followed.');

const wrapSection = z
  .strictObject({
    walks: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('Logs of walks, relative to the scenario, one a row; without them the agent lives the walks.'),
    judges: count
      .optional()
      .describe('Judges (`roles.judge`) who must all find that a walk does what its instruction says; default 3.'),
  })
  .optional()
  .describe(
    'Each walk over screens becomes a task that it solves: an instruction, a thought before each action (UI-Simulator, 2510.14969); `roles.tasks` writes them, and what cannot be done again or names what is not there is refused.',
  );

const synthSection = z
  .strictObject({
    episodes: positive.default(100).describe('Episodes to live: the rows of the job.'),
    mode: z
      .enum(['turns', 'amplify'])
      .default('turns')
      .describe('Turn by turn in the environment (faithful), or whole trajectories in one call each (cheap; Simia).'),
    recipe: recipeSchema,
    groupSize: positive.default(1).describe('Episodes that begin alike: same task, same environment seed.'),
    branchAt: count.default(0).describe('Turns that a group shares before its episodes part.'),
    maxSteps: positive.default(30).describe("An agent's turns before an episode is truncated."),
    pick: z
      .enum(['cycle', 'curriculum'])
      .default('cycle')
      .describe('Tasks in turn, or drawn by `tasks.curriculum` from what became of earlier episodes.'),
    splits: z
      .array(z.enum(['train', 'validation', 'test']))
      .min(1)
      .default(['train'])
      .describe('Splits of the domain whose tasks are run; the others are kept for evaluation.'),
    license: z.string().min(1).default('other').describe('Licence identifier that the dataset card carries.'),
    export: z.array(episodeFormatSchema).default(['openai', 'parquet']).describe('Datasets to write.'),
    earlyExperience: earlyExperienceSection,
    wrap: wrapSection,
    budget: budgetSection,
  })
  .prefault({})
  .describe('`reverie synth`: episodes run in the simulation, as datasets.');

function sections() {
  return {
    family: z.literal('tools').describe('Messages and typed tool calls over a state.'),
    name: nameKey,
    description: z.string().default('').describe('One sentence on what the domain is.'),
    plugins: pluginsKey,
    domain: domainSpecSchema()
      .prefault({})
      .describe('What is simulated: a folder of its files, or a domain that a pack or plugin has a name for.'),
    llm: llmConfigSchema.nullable().default(null).describe('The language model that everybody uses; null: none.'),
    roles: z
      .strictObject(
        Object.fromEntries(
          LLM_ROLES.map((role) => [
            role,
            z.looseObject({}).optional().describe(`Keys of \`llm\` that differ for: ${role}.`),
          ]),
        ) as Record<LlmRole, z.ZodOptional<z.ZodObject>>,
      )
      .prefault({})
      .describe('Another model, or other settings, for one of those who ask.'),
    cache: z
      .string()
      .nullable()
      .default(null)
      .describe(
        "Folder of kept replies, relative to the scenario; null: `cache` in the run's folder. A filled one repeats a run.",
      ),
    model: toolsModelSchema().prefault({}).describe('Who answers calls, in which order, and what is believed.'),
    experience: experienceSchema,
    agent: agentSection,
    user: userSection,
    reward: rewardSection,
    tasks: tasksSchema,
    quality: qualitySchema,
    synth: synthSection,
    fidelity: toolsFidelitySchema,
    rl: textRlSchema(),
    train: textTrainSchema,
    quickstart: textQuickstartSchema,
    seed: seedKey,
    workers: workersKey(
      'Where language models are waited for: episodes under way at once, 0: 32. Where rows only compute (exact rules, scripted users): worker threads; 0: in the main thread. Never changes results.',
    ),
  };
}

/** Of the domains that are known now. */
function toolsScenarioSchemas() {
  return {
    /** The effective configuration of a run: one profile applied, overrides applied, defaults filled in. */
    schema: z.strictObject(sections()).superRefine(checkNeeds),
    /** A scenario file: the same, and named profiles. */
    fileSchema: z.strictObject({ ...sections(), profiles: profilesKey }).superRefine(checkNeeds),
  };
}

export type ToolsScenarioConfig = z.output<ReturnType<typeof toolsScenarioSchemas>['schema']>;

type Needs = Pick<
  z.output<z.ZodObject<ReturnType<typeof sections>>>,
  'llm' | 'agent' | 'user' | 'reward' | 'synth' | 'rl' | 'train'
>;

/** What asks a language model needs one. */
function checkNeeds(config: Needs, context: z.RefinementCtx): void {
  const { llm, agent, user, reward, synth } = config;
  for (const issue of valueNeeds(config)) context.addIssue({ code: 'custom', ...issue });
  const askers: readonly (readonly [boolean, string[], string])[] = [
    [agent.kind === 'llm', ['agent', 'kind'], 'an agent of kind llm'],
    [agent.kind === 'guided', ['agent', 'kind'], 'an agent of kind guided'],
    [synth.wrap !== undefined, ['synth', 'wrap'], 'wrapping walks'],
    [user.kind === 'llm', ['user', 'kind'], 'a user of kind llm'],
    [reward.judge !== null, ['reward', 'judge'], 'a judge'],
    [synth.mode === 'amplify', ['synth', 'mode'], 'amplification'],
    [synth.earlyExperience.reflections, ['synth', 'earlyExperience', 'reflections'], 'reflection'],
  ];
  for (const [asks, path, who] of askers) {
    if (asks && llm === null)
      context.addIssue({ code: 'custom', path, message: `${who} needs a language model (llm)` });
  }
}

/** A value model is made of records, held against others, and compares choices within a situation. */
function valueNeeds({ rl, train }: Needs): { path: string[]; message: string }[] {
  if (train.mode !== 'value') return [];
  if (train.gather === undefined)
    return [
      { path: ['train', 'mode'], message: 'mode value learns from records: say in train.gather who records them' },
    ];
  const held = {
    path: ['train', 'gather', 'heldOut'],
    message: 'mode value judges its model on episodes held out: above 0',
  };
  const message = `mode value compares choices in a situation: grpo, rloo or gigpo, not ${rl.algorithm}`;
  return [
    ...(train.gather.heldOut > 0 ? [] : [held]),
    ...(groupEstimators.get(rl.algorithm).hasCritic ? [{ path: ['rl', 'algorithm'], message }] : []),
  ];
}

/** As they are once the domains are loaded that the layers of a scenario name. */
export async function toolsSections(
  layers: readonly Readonly<Record<string, unknown>>[],
): Promise<ScenarioSections<ToolsScenarioConfig>> {
  await loadNamedDomains(layers.map(({ domain }) => domain));
  return {
    ...toolsScenarioSchemas(),
    identity,
    files: (config, folder) => [
      ...domainFiles(config.domain, folder),
      ...episodeLogFiles(config.experience, folder),
      ...episodeLogFiles({ logs: config.synth.wrap?.walks ?? [] }, folder),
      ...backendFiles(config.model).map((file) => resolve(folder, file)),
    ],
  };
}

/**
 * Which model answers, from where and at what price, is told by the versions recorded with everything it answers, so that a
 * run can be repeated from its cache. How a quickstart trains is told by the scenarios of its runs.
 */
function identity(config: Omit<ToolsScenarioConfig, 'seed' | 'workers'>): object {
  const { llm: _llm, roles: _roles, cache: _cache, quickstart: _quickstart, ...rest } = config;
  const { budget: _budget, export: _export, ...synth } = config.synth;
  return { ...rest, synth };
}
