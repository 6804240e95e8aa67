// The same arms answered by a real model: the server at REVERIE_LLM_URL (name of the model: REVERIE_LLM_MODEL, or the first
// it lists). Prompts are cut to what a small model on one core can read in seconds.

import { basename } from 'node:path';
import type { Json, JsonObject } from '../src/core/canonical-json.js';
import type { ToolsDomain } from '../src/env/tools/domain.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import { makeLanguageModel } from '../src/llm/served-model.js';
import type { BenchmarkContext } from './benchmark.js';
import type { AblationParts } from './experience-ablation.js';
import { ARMS, type Arm, armResponder, knownDomain, type PromptSizes } from './experience-ablation-arms.js';
import {
  type EpisodeScores,
  judgedRewards,
  liveEpisodes,
  plainJudge,
  scoreEpisodes,
} from './experience-ablation-episodes.js';
import { type AskOptions, type StepScores, scoreSteps } from './experience-ablation-steps.js';

/** Questions an arm is asked where REVERIE_ABLATION_STEPS does not say. */
const STEPS = 24;
/** And no more than begin within these minutes, where REVERIE_ABLATION_MINUTES does not say. */
const MINUTES = 10;
/** With more, whole episodes are lived too. */
const STEPS_FOR_EPISODES = 60;
const EPISODES = 10;
const SIZES: PromptSizes = { k: 3, maxChars: 400, historyTokens: 200, stateTokens: 300, maxTokens: 256 };
const SEED = 1;
const POLICY_LINES = 6;
/** Of a schema: what a small model can do without, where it is no name of a property. */
const DETAILS = new Set(['description', 'pattern', 'title', 'minimum', 'maximum', 'additionalProperties', 'required']);
/** Asked of a real model: checks by rules are told apart from the router by the controlled one. */
const REAL_ARMS = ARMS.filter(({ name }) => name !== '+checks');

export interface RealModelResult {
  readonly model: string;
  /** An arm was asked fewer where time was up. */
  readonly mostQuestions: number;
  readonly prompt: PromptSizes;
  readonly arms: readonly {
    readonly arm: string;
    readonly steps: StepScores;
    readonly episodes?: EpisodeScores;
    readonly seconds: number;
    readonly promptTokens: number;
    readonly completionTokens: number;
  }[];
}

type Model = Awaited<ReturnType<typeof makeLanguageModel>>;

/** Undefined where no server is named. */
export async function realModelPart(
  parts: AblationParts,
  { quick, log }: BenchmarkContext,
): Promise<RealModelResult | undefined> {
  const url = process.env['REVERIE_LLM_URL'];
  if (url === undefined || quick) return undefined;
  const name = process.env['REVERIE_LLM_MODEL'] ?? (await firstModel(url));
  const count = Number(process.env['REVERIE_ABLATION_STEPS'] ?? STEPS);
  const model = await makeLanguageModel({
    provider: 'openai-compatible',
    url,
    model: name,
    timeoutSeconds: 600,
    deadlineSeconds: 1200,
  });
  try {
    const arms = [];
    for (const arm of REAL_ARMS) {
      const measured = await measureArm(parts, model, arm, count, log);
      arms.push(measured);
      log(`${basename(name)}, ${arm.name}: ${JSON.stringify(measured.steps.observation)} observations right`);
    }
    return { model: basename(name), mostQuestions: Math.min(count, parts.questions.length), prompt: SIZES, arms };
  } finally {
    await model.close();
  }
}

async function firstModel(url: string): Promise<string> {
  const reply = await fetch(`${url.replace(/\/$/, '')}/models`);
  const { data } = (await reply.json()) as { data: readonly { id: string }[] };
  return data[0].id;
}

async function measureArm(
  parts: AblationParts,
  model: Model,
  arm: Arm,
  count: number,
  log: (line: string) => void,
): Promise<RealModelResult['arms'][number]> {
  const { index, questions, trainTasks } = parts;
  const domain = shortDomain(parts.domain);
  const started = performance.now();
  const cost = { promptTokens: 0, completionTokens: 0 };
  let answers = 0;
  const options: AskOptions = {
    seed: SEED,
    concurrency: 1,
    until: started + 60_000 * Number(process.env['REVERIE_ABLATION_MINUTES'] ?? MINUTES),
  };
  const answering = armResponder(arm, { domain, index, model, sizes: SIZES });
  const responder: Responder = {
    ...answering,
    answer: async (query, signal) => {
      const prediction = await answering.answer(query, signal);
      cost.promptTokens += prediction.cost.promptTokens;
      cost.completionTokens += prediction.cost.completionTokens;
      answers += 1;
      if (answers % 10 === 0) log(`${arm.name}: ${answers} answers, ${Math.round(secondsSince(started))} s`);
      return prediction;
    },
  };
  const steps = await scoreSteps(arm, responder, questions.slice(0, count), options);
  const seconds = secondsSince(started);
  if (count <= STEPS_FOR_EPISODES) return { arm: arm.name, steps, seconds, ...cost };
  const lived = await liveEpisodes(domain, responder, trainTasks.slice(0, EPISODES), options);
  const rewards =
    arm.mode === 'typed'
      ? lived.map(({ record }) => record.verdict.reward)
      : await judgedRewards(domain, lived, plainJudge(model), options);
  const episodes = scoreEpisodes(arm, knownDomain(arm, domain), lived, rewards);
  return { arm: arm.name, steps, episodes, seconds, ...cost };
}

/** To fit a window of 8,192 tokens: the policy, which binds the agent alone, is its first lines; the schema says types. */
function shortDomain(domain: ToolsDomain): ToolsDomain {
  const policy = domain.policy.split('\n').slice(0, POLICY_LINES).join('\n');
  return { ...domain, policy, stateSchema: withoutDetails(domain.stateSchema) as JsonObject };
}

function withoutDetails(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutDetails);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([key, part]) => !DETAILS.has(key) || (typeof part === 'object' && key !== 'required'),
  );
  return Object.fromEntries(kept.map(([key, part]) => [key, withoutDetails(part)]));
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}
