// What a scenario.yaml of family `tools` may say: a domain of tools, who simulates it, who acts in it, and what is made of
// what was lived. Sections that belong to a room are that room's own schemas.

import { z } from 'zod';
import { domainSpecSchema } from '../../env/tools/domain-spec.js';
import { llmConfigSchema } from '../../llm/config.js';
import { experienceSchema } from '../../replay/experience/experience.js';
import { groupEstimators } from '../../rl/group/estimators.js';
import { recipeSchema } from '../../synth/episodes/recipes.js';
import { episodeFormatSchema } from '../../synth/export/episodes/export-episodes.js';
import { hackerSchema } from '../../synth/hacker/find-tricks.js';
import { qualitySchema } from '../../synth/quality/quality-config.js';
import { tasksSchema } from '../../synth/tasks/tasks-schema.js';
import { judgeSchema } from '../../worldmodel/reward/judge-schema.js';
import { toolsModelSchema } from '../../worldmodel/tools/tools-model-schema.js';
import { nameKey, pluginsKey, profilesKey, seedKey, workersKey } from '../common-keys.js';
import { agentSection } from './agent-section.js';
import { toolsFidelitySchema } from './fidelity-section.js';
import { textQuickstartSchema, textRlSchema, textTrainSchema } from './train-section.js';

const positive = z.int().min(1);
const count = z.int().min(0);
const share = z.number().min(0).max(1);

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
    enabled: z
      .boolean()
      .default(true)
      .describe('Whether the suite runs before episodes are lived, on whoever answers calls.'),
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
      .describe('Whether calls of solutions are put to whoever answers, before episodes are lived.'),
  })
  .prefault({})
  .describe(
    'The must-succeed suite: a simulator that does not do what is possible, or answers what is not so, makes no rewards and no datasets.',
  );

const shadowSection = z
  .strictObject({
    share: share.default(0).describe('Share of dreamt calls that the real environment answers too; 0: none.'),
    tolerance: share.default(0.2).describe('Probability of a wrong state that the trust horizon allows.'),
    limit: z
      .union([z.boolean(), z.literal('auto')])
      .default(false)
      .describe(
        'Truncate episodes at the trust horizon: `true`: what the steps compared so far allow; `auto`: what the report of `--fidelity` says.',
      ),
    lag: positive.default(64).describe('The horizon of a row comes from rows more than this many before it.'),
  })
  .prefault({})
  .describe('Measuring the dream against the real while it runs; needs the exact rules of the domain.');

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
      .describe('Splits of the domain whose tasks are lived; the others are kept for evaluation.'),
    license: z.string().min(1).default('other').describe('Licence identifier that the dataset card carries.'),
    export: z.array(episodeFormatSchema).default(['openai', 'parquet']).describe('Datasets to write.'),
    earlyExperience: earlyExperienceSection,
    wrap: wrapSection,
    budget: budgetSection,
  })
  .prefault({})
  .describe('`reverie synth`: episodes lived in the simulation, as datasets.');

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
    shadow: shadowSection,
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
export function toolsScenarioSchemas() {
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
  const fits = !groupEstimators.get(rl.algorithm).hasCritic;
  const path = (...keys: string[]) => ['train', ...keys];
  if (train.gather === undefined)
    return [{ path: path('mode'), message: 'mode value learns from records: say in train.gather who lives them' }];
  return [
    ...(train.gather.heldOut > 0
      ? []
      : [{ path: path('gather', 'heldOut'), message: 'mode value judges its model on episodes held out: above 0' }]),
    ...(fits
      ? []
      : [
          {
            path: ['rl', 'algorithm'],
            message: `mode value compares choices in a situation: grpo, rloo or gigpo, not ${rl.algorithm}`,
          },
        ]),
  ];
}
