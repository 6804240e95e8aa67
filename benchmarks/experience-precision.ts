// Does what the default dataset teaches agree with the typed state? Each learnt turn is judged apart from the filters that masked the
// others: a call is made again by the exact rules and must be answered as it was, without an error and with ids that somebody
// mentioned; what a text says of records is held against the state as it was then. A sample with its state is kept to check by hand.

import type { JsonObject } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { ToolsDomain } from '../src/env/tools/domain.js';
import { makeDomain } from '../src/env/tools/make-domain.js';
import type { Message, ToolCall } from '../src/env/tools/message.js';
import { initialStateOf } from '../src/env/tools/task-states.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { wilson } from '../src/worldmodel/tools/shadow-estimates.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { claimsIn } from './experience-claims.js';
import { defaultRun, type OpenAiRow } from './experience-episodes.js';

const EPISODES = 200;
const SAMPLE = 40;

interface Span {
  readonly row: number;
  readonly turn: string;
  readonly kind: 'call' | 'claim' | 'other text';
  readonly agrees: boolean;
  /** Why it does, or does not. */
  readonly because: string;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const { episodes, rows } = await defaultRun(root, 'helpdesk', quick ? 24 : EPISODES);
  const domain = await makeDomain({ id: 'helpdesk' });
  const imitated = episodes.filter(({ verdict }) => verdict.reward === 1);
  if (imitated.length !== rows.length) throw new Error(`${rows.length} rows of ${imitated.length} episodes to imitate`);
  const spans = imitated.flatMap((episode, at) => spansOf(domain, episode, rows[at]));
  domain.close();
  const right = spans.filter(({ agrees }) => agrees).length;
  const wrong = spans.filter(({ agrees }) => !agrees);
  for (const { row, turn, because } of wrong) log(`row ${row}: ${turn}: ${because}`);
  const kinds = (['call', 'claim', 'other text'] as const).map((kind) => [
    kind,
    spans.filter((span) => span.kind === kind).length,
  ]);
  const order = Rng.fromSeed(1).permutation(spans.length);
  const sample = Array.from(order.slice(0, SAMPLE), (at) => spans[at]);
  const masked = rows.flatMap(({ messages }) => messages).filter(({ weight }) => weight === 0).length;
  const raw = { spans: spans.length, kinds: Object.fromEntries(kinds), masked, wrong, sample };
  const { value, low, high } = wilson(right, spans.length);
  return { value: value ?? 0, low, high, n: spans.length, raw };
}

/** Each learnt turn of an episode, judged in the state it was taken in. */
function spansOf(
  domain: ToolsDomain,
  { row, task: id, messages }: EpisodeRecord,
  { messages: written }: OpenAiRow,
): Span[] {
  const spans: Span[] = [];
  let state: JsonObject = initialStateOf(domain, domain.tasks.find((known) => known.id === id)!);
  let told = '';
  let person: string | undefined;
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') {
      if (message.role !== 'system') told += `\n${message.content}`;
      continue;
    }
    const learnt: Omit<Span, 'row'>[] = [];
    for (const call of message.toolCalls ?? []) {
      const made = madeAgain(domain, state, call, messages);
      learnt.push({ ...spanOf(call, told), ...(made.problem === undefined ? {} : fault(made.problem)) });
      state = made.after;
      if (call.name === 'verify_identity' && made.answer.includes('"verified":true'))
        person = String(call.arguments.employee_id);
    }
    if (message.content) {
      const { claims, wrong } = claimsIn(message.content, { person, state, told });
      const kind = claims > 0 ? 'claim' : 'other text';
      const because = `${claims} claims, all so`;
      learnt.push({
        ...{ turn: message.content, kind, agrees: true, because },
        ...(wrong.length > 0 ? fault(`not so: ${wrong.join('; ')}`) : {}),
      });
    }
    if (written[index]?.weight === 1) spans.push(...learnt.map((span) => ({ row, ...span })));
  }
  return spans;
}

const fault = (because: string) => ({ agrees: false, because });

/** A call that is right if the rules answer it as it was answered. */
function spanOf({ name, arguments: given }: ToolCall, told: string): Omit<Span, 'row'> {
  const turn = `${name}(${JSON.stringify(given)})`;
  const unheard = unheardIn(given, told);
  return {
    ...{ turn, kind: 'call', agrees: true, because: 'the rules answer the same' },
    ...(unheard === undefined ? {} : fault(`nobody mentioned ${unheard}`)),
  };
}

/** What the exact rules make of a call; what was refused in the episode never came to them, and changes nothing. */
function madeAgain(domain: ToolsDomain, state: JsonObject, call: ToolCall, messages: readonly Message[]) {
  const answered = messages.find((message) => message.role === 'tool' && message.toolCallId === call.id);
  const answer = answered?.content ?? '';
  if (answered?.role !== 'tool' || answered.isError) return { after: state, answer, problem: `refused: ${answer}` };
  const { isError, observation, operations } = domain.rules!.execute(state, call);
  const isSame = !isError && observation === answer;
  const problem = isSame ? undefined : `the rules answer ${observation}`;
  return { after: applyOperations(state, operations), answer, problem };
}

/** An id among the arguments, letters and digits, that neither user nor tool has written. */
function unheardIn(given: JsonObject, told: string): string | undefined {
  const ids = JSON.stringify(given).match(/\b(?:[A-Z]{2,3}-)+[A-Z0-9-]*\b/g) ?? [];
  return ids.find((id) => !told.toLowerCase().includes(id.toLowerCase()));
}
