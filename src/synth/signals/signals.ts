// What is wrong with an episode, as flags that cost next to nothing: no model is asked, and what has no rules or state to be
// known by is not flagged.

import { canonicalJson } from '../../core/canonical-json.js';
import type { ToolsDomain, ToolsTask } from '../../env/index.js';
import type { EpisodeRecord, EpisodeSignal } from '../../replay/index.js';
import { claimsFilter } from '../quality/claims.js';
import { type Filter, KEEP, type QualityContext } from '../quality/filter.js';
import { loopFilter } from '../quality/loops.js';
import { judgeExactly } from '../quality/policy.js';
import { agentTurns, answerOf } from '../quality/repairs.js';

/** Turns in a row that change nothing and learn nothing. */
const STAGNANT_TURNS = 3;
/** Rounds of the same actions with the same outcome. */
const LOOP_ROUNDS = 3;
/** Checks of a verdict that are about what may not be done. */
const FORBIDDING = /^(check|not called): /;

type Found = (record: EpisodeRecord, context: QualityContext) => boolean;

export class SignalFinder {
  private readonly finders: readonly (readonly [EpisodeSignal, Found])[];

  constructor(private readonly domain: ToolsDomain) {
    this.finders = [
      ['stagnation', isStagnant],
      ['loop', by(loopFilter(LOOP_ROUNDS))],
      ['contradiction', by(claimsFilter(domain))],
      ['exhaustion', ({ truncated }) => truncated],
      ['policy-broken', breaksPolicy],
      ['cut-turn', ({ steps }) => steps.some(({ cut }) => cut === true)],
    ];
  }

  /** What is wrong with an episode of a task, in the order of the list of signals. */
  find(record: EpisodeRecord, task: ToolsTask): EpisodeSignal[] {
    const context: QualityContext = { domain: this.domain, taskOf: () => task };
    return this.finders.flatMap(([signal, isThere]) => (isThere(record, context) ? [signal] : []));
  }
}

/** What a filter would mend or drop. */
function by(filter: Filter): Found {
  return (record, context) => filter.judge(record, context) !== KEEP;
}

/** A run of turns whose calls were all answered before, or with errors, in a state that stays as it is. */
function isStagnant(record: EpisodeRecord): boolean {
  const states = new Map(record.steps.map((step) => [step.message, step.stateHash]));
  const known = new Set<string>();
  let [before, stagnant, longest] = ['', 0, 0];
  for (const { index, message } of agentTurns(record)) {
    const state = states.get(index) ?? before;
    const answers = (message.toolCalls ?? []).map((call) => answerOf(record, call));
    const told = answers.flatMap((answer) => (answer === undefined || answer.isError ? [] : [answer.content]));
    const said = message.toolCalls?.length ? [] : [canonicalJson(['said', message.content ?? ''])];
    const news = [...told, ...said].filter((text) => !known.has(text));
    stagnant = state === before && news.length === 0 ? stagnant + 1 : 0;
    longest = Math.max(longest, stagnant);
    for (const text of news) known.add(text);
    before = state;
  }
  return longest >= STAGNANT_TURNS;
}

function breaksPolicy(record: EpisodeRecord, context: QualityContext): boolean {
  const isForbidden = record.verdict.checks.some(({ name, passed }) => passed === false && FORBIDDING.test(name));
  return isForbidden || judgeExactly(record, context, { checks: [], exact: true }) !== null;
}
