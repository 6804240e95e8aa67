// Who acts in a world of tools, as a scenario says it.

import { z } from 'zod';

const positive = z.int().min(1);
const share = z.number().min(0).max(1);

export const agentSection = z
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
      goals: z
        .enum(['own', 'task'])
        .default('own')
        .describe('It looks for something to do, with a kind of goal in mind; or it does what the task says.'),
      goalKinds: z
        .array(z.string().min(1).max(400))
        .optional()
        .describe('Kinds of goals, a sentence each, beside those of any application and of the domain.'),
      subgoals: positive.default(5).describe('Sub-goals of a walk at most.'),
      prune: positive
        .optional()
        .describe(
          'Every so many actions the walk is named as a task (`roles.tasks`), and ended where no one would ask for it.',
        ),
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
