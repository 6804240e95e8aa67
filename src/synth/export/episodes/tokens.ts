// Episodes as the tokens that the agent's model read and wrote, never rendered or tokenised again: what is learnt from is
// what was sampled, with its log-probabilities. `trl`: rows that SFTTrainer takes as tokenised already. `verl`: rows by
// the names of its AgentLoopOutput, with reward, group and weights, for off-policy learners.

import type { JsonObject } from '../../../core/json.js';
import type { TurnTokens } from '../../../env/index.js';
import type { EpisodeRecord } from '../../../replay/index.js';
import type { EpisodeFormat, FormatContext, FormatRow } from './format.js';
import type { NestedColumns } from './nested-parquet.js';

const IDS = { list: 'integer' } as const;
const LOGPROBS = { list: 'double' } as const;

const WHICH: NestedColumns = { id: 'text', part: 'integer', task: 'text', seed: 'integer', group: 'integer' };
const TRL_COLUMNS: NestedColumns = { input_ids: IDS, assistant_masks: IDS, ...WHICH, reward: 'double' };
const VERL_COLUMNS: NestedColumns = {
  prompt_ids: IDS,
  response_ids: IDS,
  response_mask: IDS,
  response_logprobs: LOGPROBS,
  weight_versions: { list: 'text' },
  ...WHICH,
  reward: 'double',
  policy_version: 'text',
};

/** Tokens that follow each other. `mask` and `logprobs` are as long as `response`; both are 0 where the agent did not write. */
export interface TokenSequence {
  readonly prompt: readonly number[];
  readonly response: number[];
  readonly mask: (0 | 1)[];
  /** null where the server gave none for a turn of it. */
  logprobs: number[] | null;
  /** Of each turn of the agent; null where the server did not say. */
  readonly weightVersions: (string | null)[];
}

/**
 * Turns as the fewest sequences in which every token stands after exactly those that the server read before it. A turn
 * whose prompt goes on from all that came before is appended to it; where a template shows the past otherwise (thoughts
 * left out, calls written anew) a sequence begins.
 */
export function tokenSequences(
  turns: readonly { readonly tokens: TurnTokens; readonly isLearnt: boolean }[],
): TokenSequence[] {
  const sequences: TokenSequence[] = [];
  for (const { tokens, isLearnt } of turns) {
    const last = sequences.at(-1);
    const context = last && continuation(last, tokens.prompt);
    if (last !== undefined && context !== undefined) append(last, context, tokens, isLearnt);
    else {
      const begun: TokenSequence = { prompt: tokens.prompt, response: [], mask: [], logprobs: [], weightVersions: [] };
      append(begun, [], tokens, isLearnt);
      sequences.push(begun);
    }
  }
  return sequences;
}

/** What `prompt` adds to a sequence; undefined where it does not go on from it. */
function continuation({ prompt, response }: TokenSequence, next: readonly number[]): readonly number[] | undefined {
  const length = prompt.length + response.length;
  if (next.length < length) return undefined;
  for (let at = 0; at < length; at++) {
    const before = at < prompt.length ? prompt[at] : response[at - prompt.length];
    if (next[at] !== before) return undefined;
  }
  return next.slice(length);
}

function append(to: TokenSequence, context: readonly number[], tokens: TurnTokens, isLearnt: boolean): void {
  const { reply, logprobs, weightVersion } = tokens;
  to.response.push(...context, ...reply);
  to.mask.push(...context.map(() => 0 as const), ...reply.map((): 0 | 1 => (isLearnt ? 1 : 0)));
  if (logprobs === undefined) to.logprobs = null;
  else to.logprobs?.push(...context.map(() => 0), ...logprobs);
  to.weightVersions.push(weightVersion ?? null);
}

export function tokensFormat({ adapt }: FormatContext): EpisodeFormat {
  return {
    tables: { trl: { columns: TRL_COLUMNS, isImitated: true }, verl: { columns: VERL_COLUMNS } },
    *rows(record): Generator<FormatRow> {
      const turns = turnsOf(record);
      if (turns === undefined) {
        adapt('left out: not every turn of the agent has token ids (`agent.tokens`)');
        return;
      }
      const sequences = tokenSequences(turns);
      if (sequences.length > 1) adapt('written as several sequences: its template shows the past otherwise');
      const { split } = record;
      for (const [part, sequence] of sequences.entries()) {
        const which = whichOf(record, part);
        yield { table: 'trl', split, value: { ...trlRow(sequence), ...which } };
        yield { table: 'verl', split, value: { ...verlRow(sequence), ...which, policy_version: record.policyVersion } };
      }
    },
  };
}

function turnsOf({ steps, masked }: EpisodeRecord) {
  const turns = steps.flatMap(({ tokens, message }) =>
    tokens === undefined ? [] : [{ tokens, isLearnt: !masked?.includes(message) }],
  );
  return turns.length > 0 && turns.length === steps.length ? turns : undefined;
}

function whichOf({ id, task, seed, group, verdict }: EpisodeRecord, part: number): JsonObject {
  return { id, part, task, seed, group: group < 0 ? null : group, reward: verdict.reward };
}

function trlRow({ prompt, response, mask }: TokenSequence): JsonObject {
  return { input_ids: [...prompt, ...response], assistant_masks: [...prompt.map(() => 0), ...mask] };
}

function verlRow({ prompt, response, mask, logprobs, weightVersions }: TokenSequence): JsonObject {
  return {
    prompt_ids: [...prompt],
    response_ids: response,
    response_mask: mask,
    response_logprobs: logprobs,
    weight_versions: weightVersions,
  };
}
