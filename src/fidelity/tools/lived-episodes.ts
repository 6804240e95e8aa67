// Episodes whose calls were chosen in the dream, and what is true of them: their calls, carried out for real.

import type { Json } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { EpisodeEnd, ToolsDomain, ToolsTask, Verdict } from '../../env/tools/domain.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { EpisodeRecord, EpisodeStep } from '../../replay/experience/experience.js';
import { patiently } from './answers.js';
import { type CarriedOut, carryOutForReal } from './open-loop.js';

export type LivedRow = {
  readonly kind: 'lived';
  readonly episode: number;
  /** false: a model did not answer, and the episode was not lived. */
  readonly answered: boolean;
  readonly task: string;
  readonly policy: string;
  /** null: could not be decided. */
  readonly dreamt: number | null;
  readonly real: number | null;
  /** Whether the dreamt state at the end is the real one; null for models without a state. */
  readonly endState: boolean | null;
  /** Whether a tool ended it in both or in neither; null where none was called that could. */
  readonly ends: boolean | null;
  readonly calls: readonly Json[];
  /** Checks that passed in one of the two alone. */
  readonly checks: readonly { readonly name: string; readonly dreamt: Json; readonly real: Json }[];
};

/** What is looked at of an episode that was lived in a dream. */
export interface LivedEpisode extends Pick<EpisodeRecord, 'task' | 'policyVersion' | 'messages' | 'verdict'> {
  readonly steps: readonly {
    readonly action: EpisodeStep['action'];
    readonly predictions: readonly Pick<Prediction, 'operations' | 'isError' | 'stateless'>[];
  }[];
  /** Hash of the state at the end, where the state itself is elsewhere; null where it is not told. */
  readonly endHash?: string | null;
}

export interface LivedOptions {
  readonly count: number;
  /** The real environment's rules are this domain's. */
  readonly domain: ToolsDomain;
  /** Lives episode `row` in the dream: a function of the plan, its seed and `row`. undefined: it got no answer. */
  readonly live: (row: number, signal?: AbortSignal) => Promise<LivedEpisode | undefined>;
  /** Decides what exact checks leave open, as was done in the dream; absent: it stays open. */
  readonly decide?: (end: DecidedEnd, signal?: AbortSignal) => Promise<Verdict>;
}

export interface DecidedEnd {
  readonly task: ToolsTask;
  readonly end: EpisodeEnd;
  readonly verdict: Verdict;
}

/** Each lived once, for all instruments that look at it. */
export class LivedEpisodes {
  private readonly rows = new Map<number, Promise<LivedRow>>();

  constructor(private readonly options: LivedOptions) {}

  get count(): number {
    return this.options.count;
  }

  get hasTruth(): boolean {
    return this.options.domain.rules !== undefined;
  }

  row(episode: number, signal?: AbortSignal): Promise<LivedRow> {
    const made = this.rows.get(episode) ?? this.made(episode, signal);
    this.rows.set(episode, made);
    return made;
  }

  private async made(episode: number, signal?: AbortSignal): Promise<LivedRow> {
    try {
      const record = await patiently(() => this.options.live(episode, signal));
      return record === undefined ? notLived(episode) : await livedRow(this.options, record, episode, signal);
    } catch (error) {
      this.rows.delete(episode);
      throw error;
    }
  }
}

async function livedRow(
  options: LivedOptions,
  record: LivedEpisode,
  episode: number,
  signal?: AbortSignal,
): Promise<LivedRow> {
  const { domain } = options;
  const task = domain.tasks.find(({ id }) => id === record.task)!;
  const real = domain.rules === undefined ? undefined : await carryOutForReal(domain, task, record.messages, signal);
  const verdict = real?.isWhole ? await realVerdict(options, task, real, signal) : undefined;
  const hash = dreamtHash(domain, task, record);
  return {
    kind: 'lived',
    episode,
    answered: true,
    task: task.id,
    policy: record.policyVersion,
    dreamt: record.verdict.reward,
    real: verdict?.reward ?? null,
    endState: !real?.isWhole || hash === null ? null : hash === stateHash(real.finalState),
    ends: real?.isWhole ? endsAlike(domain, record, real) : null,
    calls: record.messages.flatMap((message) =>
      message.role === 'assistant'
        ? (message.toolCalls ?? []).map((call) => ({ name: call.name, arguments: call.arguments }))
        : [],
    ),
    checks: verdict === undefined ? [] : differingChecks(record.verdict, verdict),
  };
}

async function realVerdict(
  { domain, decide }: LivedOptions,
  task: ToolsTask,
  end: CarriedOut,
  signal?: AbortSignal,
): Promise<Verdict> {
  const verdict = verifyEpisode(domain, task, end);
  return decide === undefined || verdict.reward !== null ? verdict : decide({ task, end, verdict }, signal);
}

function dreamtHash(domain: ToolsDomain, task: ToolsTask, { steps, endHash }: LivedEpisode): string | null {
  if (endHash !== undefined) return endHash;
  const predictions = steps.flatMap((step) => step.predictions);
  if (predictions.some(({ stateless }) => stateless)) return null;
  const start = initialStateOf(domain, task);
  return stateHash(predictions.reduce((state, { operations }) => applyOperations(state, operations), start));
}

function endsAlike({ tools }: ToolsDomain, { steps }: LivedEpisode, real: CarriedOut): boolean | null {
  const ending = new Set(tools.filter(({ terminates }) => terminates).map(({ name }) => name));
  const answered = steps.flatMap(({ action, predictions }) =>
    predictions.map(({ isError }, i) => ({ isError, name: action.toolCalls![i].name })),
  );
  const called = answered.filter(({ name }) => ending.has(name));
  return called.length === 0 ? null : called.some(({ isError }) => !isError) === real.terminated;
}

function differingChecks(dreamt: Verdict, real: Verdict): LivedRow['checks'] {
  return real.checks.flatMap((check) => {
    const other = dreamt.checks.find(({ name }) => name === check.name);
    if (other === undefined || other.passed === check.passed) return [];
    return [{ name: check.name, dreamt: other.reason, real: check.reason }];
  });
}

function notLived(episode: number): LivedRow {
  const nothing = { dreamt: null, real: null, endState: null, ends: null, calls: [], checks: [] };
  return { kind: 'lived', episode, answered: false, task: '', policy: '', ...nothing };
}
