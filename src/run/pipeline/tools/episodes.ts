// `reverie synth` of a tools scenario: episodes run in the simulation, judged, filtered, and written as datasets, with a report of what
// came of them. Each stage keeps what it did in the run's folder, so that a run that was stopped resumes where it was. And `reverie collect`
// and `reverie eval`: episodes in the domain's exact rules, kept as they were, and as logs in OpenAI's form, for `experience.logs`.

import { join } from 'node:path';
import type { JsonObject } from '../../../core/canonical-json.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../../core/files.js';
import type { Block, Fact, Report, TranscriptLine } from '../../../core/report.js';
import { mean } from '../../../core/statistics.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import type { Message } from '../../../env/tools/message.js';
import { outcomeText } from '../../../env/tools/outcome.js';
import { type Prediction, STATE_CHECKS } from '../../../env/tools/prediction.js';
import { elsewhere, realResponder } from '../../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { TextLearner } from '../../../rl/text/text-learner.js';
import { earlyExperience } from '../../../synth/early-experience/early-experience.js';
import { isFailed } from '../../../synth/episodes/produce-rows.js';
import { pictureKeeper } from '../../../synth/episodes/run-episode.js';
import { openAiMessage } from '../../../synth/export/episodes/format.js';
import type { DatasetReport } from '../../../synth/quality/filter.js';
import { type Deficit, DeficitLedger } from '../../../synth/signals/deficits.js';
import { behaviourTable, UserBehaviour } from '../../../synth/signals/user-behaviour.js';
import { lintTasks } from '../../../synth/tasks/lint-tasks.js';
import { TextPolicyAgent } from '../../../training/text-play.js';
import { formatCount, formatCounts, formatPercent } from '../../format.js';
import { closedOnFailure, type JobContext } from '../../job.js';
import { RowCoordinator } from '../../queue/coordinator.js';
import { RowQueue } from '../../queue/redis-queue.js';
import { describedJob, type JobFacts, ThreadedRows, versionsOf } from '../../queue/row-job.js';
import { publish } from '../../report-page.js';
import type { ToolsScenario } from '../../scenario.js';
import {
  EPISODES_FILE,
  type GateFindings,
  gateFacts,
  hackerResult,
  JudgedRows,
  makeDatasets,
  passGates,
  readEpisodes,
  taskStage,
} from './gates.js';
import {
  episodeFacts,
  episodeRows,
  episodesSet,
  makeEpisodeEnvironment,
  makeParts,
  type RowRunner,
  RowStatistics,
  recordedEpisodes,
  remarkOn,
  type ToolsParts,
  textViewOf,
  withoutFaults,
} from './rows.js';
import { openTextLearner } from './train-policy.js';

type Context = JobContext<ToolsScenario>;

export type SynthEpisodesResult = Awaited<ReturnType<typeof synthEpisodesJob>>;

/** Resumable: finished rows are in the journal, and the same bytes come out however often it was stopped. */
export async function synthEpisodesJob(context: Context) {
  const queue = context.queue === undefined ? undefined : await RowQueue.open(context.queue, context.log);
  let parts: ToolsParts | undefined;
  try {
    parts = await makeParts(context);
    return await madeEpisodes(context, parts, queue);
  } finally {
    await queue?.close();
    await parts?.close();
  }
}

/** Maximum number of unrewarded tasks to name. */
const SHOWN_DEFECTS = 5;

async function madeEpisodes(context: Context, given: ToolsParts, queue: RowQueue | undefined) {
  const { scenario, out, log, metrics, progress } = context;
  metrics.rewindTo(({ kind }) => kind !== 'live');
  const { config } = scenario;
  const { domain, tasks, added } = await taskStage(context, given);
  const parts = { ...given, domain };
  const { responder, budget } = parts;
  const evaluationSet = episodesSet(context, parts, responder, tasks);
  const { gates, judge } = await passGates(context, parts, tasks);
  const unfit = (await lintTasks(domain, tasks)).filter(({ shuts }) => shuts);
  for (const { task, problem } of unfit.slice(0, SHOWN_DEFECTS)) log(`Task "${task}" gives no reward: ${problem}.`);
  if (unfit.length > SHOWN_DEFECTS) log(`And ${unfit.length - SHOWN_DEFECTS} more: see reverie audit --tasks.`);
  const statistics = new RowStatistics();
  const ledger = new DeficitLedger();
  const simulatedUsers = new UserBehaviour();
  const judged = new JudgedRows(context, domain);
  const phase = progress.phase('run', config.synth.episodes, 'episodes');
  let [done, trouble]: [number, string | undefined] = [0, undefined];
  const tell = () => phase.set(done, [noteOf(statistics, judged, runner?.note), trouble].filter(Boolean).join(' · '));
  const told = { tasks: added, withheld: gates.unrewarded ?? null, versions: versionsOf(parts, judge) };
  const runner = await runnerOf(context, parts, told, queue, tell);
  const produced = episodeRows(context, parts, {
    ...{ source: 'synthetic', responder, tasks, withheld: gates.unrewarded, judge: judge?.decide, runner },
    observe: (row) => {
      const kept = judged.judge(row);
      statistics.add(row, kept);
      if (!isFailed(row)) {
        ledger.add(kept ?? row);
        if (row.outcome.kind !== 'failed_by_user') simulatedUsers.add(row.messages);
      }
    },
    onProgress: (...now) => {
      [done, trouble] = now;
      tell();
    },
  });
  const rows = await closedOnFailure(judged, () => produced).finally(() => runner?.close());
  try {
    const stoppedBy = rows.stoppedBy ?? null;
    phase.end(stoppedBy === null ? noteOf(statistics, judged) : `the budget of ${stoppedBy} is spent`);
    metrics.write({ kind: 'live', episodes: rows.done, steps: statistics.steps, cost: statistics.cost });
    const deficits = ledger.report();
    const found = sealedText({ format: 'reverie-deficits/1', domain: domain.id, deficits });
    await writeFileAtomic(join(out, 'deficits.json'), found);
    const isWritten = gates.unwritten === undefined;
    const { data } = judged;
    const { quality, rejected, datasets } = await makeDatasets(context, parts, judged, isWritten);
    if (isWritten && config.synth.earlyExperience.counterfactuals > 0)
      datasets.push(await makeEarlyExperience(context, parts, data));
    const { spent, spentBy } = budget;
    const { answeredBy, refusedOf, repairedOf, stateChecks } = statistics;
    const removed = removedTurns(quality);
    const facts: Fact[] = [
      ...episodeFacts(statistics, budget, stoppedBy),
      ['accepted', [formatCount(quality.out), formatCounts(rejected)].filter(Boolean).join('; not: ')],
      ['to be imitated', imitatedText(quality)],
      ['turns masked by', formatCounts(removed) || 'none'],
      ['answered by', formatCounts(answeredBy) || 'none'],
      ...counted('refused answers', refusedOf),
      ...counted('repaired answers', repairedOf),
      ...gateFacts(gates),
      ...(added.length > 0 ? [['new tasks', formatCount(added.length)] as const] : []),
      ...datasets.map((path): Fact => ['dataset', path]),
    ];
    const users = behaviourTable(simulatedUsers, await recordedUsers(context, domain));
    const tables = [...checkTable(statistics), ...deficitTable(deficits), ...taskTable(statistics), ...users];
    const shown = await episodesReport(config.name, facts, tables, gates, data);
    return {
      ...{ job: 'synth', family: 'tools', wallSeconds: metrics.wallSeconds, evaluationSet, data, datasets },
      ...{ ...statistics.counts, accepted: quality.out, imitated: quality.imitated, rejected, removed },
      ...{ answeredBy, refusedOf, repairedOf, stateChecks, deficits, spent, spentBy, stoppedBy },
      ...{ mustFail: gates.mustFail ?? null, mustSucceed: gates.mustSucceed ?? null },
      ...{ hacker: hackerResult(gates.tricks), newTasks: added.length },
      report: await publish(context, shown, evaluationSet),
    };
  } finally {
    await judged.close();
    await rows.journal.close();
  }
}

/**
 * Who runs the rows, if not this thread: workers of a queue, or threads where rows only compute.
 * @param onTick  called every second while a queue does
 */
async function runnerOf(
  context: Context,
  { domain, budget }: ToolsParts,
  facts: JobFacts,
  queue: RowQueue | undefined,
  onTick: () => void,
): Promise<RowRunner | undefined> {
  const { workers, device, log, scenario } = context;
  if (queue !== undefined) {
    const description = describedJob(context, facts);
    return RowCoordinator.begin({ queue, description, budget, window: workers, log, onTick });
  }
  // What asks a device is asked side by side here: it answers all of them at once.
  if (workers === 0 || device !== undefined || elsewhere(domain) !== undefined) return undefined;
  const { llm, synth, reward } = scenario.config;
  if (llm !== null || synth.mode === 'amplify' || reward.judge !== null) return undefined;
  return new ThreadedRows({ ...context, workers: Math.min(workers, synth.episodes, 256) }, facts);
}

/** Acceptance so far, the most frequent reason against it, success and cost; who runs them, if that is others. */
function noteOf(statistics: RowStatistics, { progress }: JudgedRows, runner = ''): string {
  const [first] = Object.entries(progress.dropped).sort(([, a], [, b]) => b - a);
  const reason = first === undefined ? '' : ` (${first[1]} ${first[0]})`;
  const accepted = progress.in === 0 ? '' : `${Math.round((100 * progress.out) / progress.in)} % accepted${reason}`;
  return [accepted, statistics.note, runner].filter(Boolean).join(' · ');
}

/**
 * What else could have been done: from episodes that succeeded, the actions not taken and what would have followed, as world-modelling
 * triples and reflections. Made anew by a resumed run; answers of models come from its cache.
 * @returns folder of the files
 */
async function makeEarlyExperience(context: Context, parts: ToolsParts, data: string): Promise<string> {
  const { config } = context.scenario;
  const { counterfactuals: alternatives, reflections } = config.synth.earlyExperience;
  const folder = join(context.out, 'datasets', 'early-experience');
  await ensureFolder(folder);
  const phase = context.progress.phase('early experience', null, 'rows');
  const rows = { triples: 0, reflections: [] as Buffer[], skipped: 0 };
  const made = earlyExperience({
    episodes: experts(readEpisodes(data)),
    environment: (user) => makeEpisodeEnvironment({ ...parts, user }, parts.responder, config),
    user: parts.user,
    policy: config.agent.kind === 'llm' ? parts.agent : undefined,
    model: reflections ? await parts.cast.model('tasks') : undefined,
    ...{ alternatives, seed: context.seed, signal: context.signal },
  });
  // Each row holds all that was seen before it: together they may be longer than a text can be.
  const triples = async function* () {
    for await (const row of made) {
      phase.advance();
      if (row.kind === 'skipped') rows.skipped++;
      else if (row.kind === 'reflection') rows.reflections.push(Buffer.from(`${JSON.stringify(row)}\n`));
      else if (++rows.triples) yield Buffer.from(`${JSON.stringify(row)}\n`);
    }
  };
  await writeFileAtomic(join(folder, 'world-model.jsonl'), triples());
  if (reflections) await writeFileAtomic(join(folder, 'reflections.jsonl'), rows.reflections);
  phase.end(`${rows.triples} triples, ${rows.reflections.length} reflections, ${rows.skipped} skipped`);
  return folder;
}

/** Episodes that show how it is done. */
async function* experts(episodes: AsyncIterable<EpisodeRecord>): AsyncGenerator<EpisodeRecord> {
  for await (const record of episodes) if (record.return === 1 && !record.truncated) yield record;
}

async function recordedUsers({ scenario }: Context, domain: ToolsDomain): Promise<UserBehaviour> {
  const users = new UserBehaviour();
  for await (const { messages } of recordedEpisodes(scenario, domain)) users.add(messages);
  return users;
}

/** What was run, what came of it, why rows were left out, and episodes to read. */
async function episodesReport(
  name: string,
  rows: readonly Fact[],
  tables: readonly Block[],
  gates: GateFindings,
  data: string,
): Promise<Report> {
  const shut = gates.unwritten ?? gates.unrewarded;
  const what = gates.unwritten === undefined ? '' : ' and no dataset was written';
  const warning = `No episode was given a reward${what}. ${shut}`;
  return {
    title: `Episodes of ${name}`,
    blocks: [
      ...(shut === undefined ? [] : [{ kind: 'paragraph', tone: 'warning', text: warning } as const]),
      { kind: 'facts', rows },
      ...tables,
      ...(gates.tricks?.tricks ?? []).map(({ task, by, moves, truth, episode }) => {
        const found = { role: 'verdict', text: `exact checks: ${truth}`, note: 'earned nothing' } as const;
        const title = `Reward for nothing · ${task} · the ${by} was taken in by: ${moves.join(', then ')}`;
        return details(title, [...transcriptOf(episode), found]);
      }),
      ...(await shownEpisodes(readEpisodes(data))),
    ],
  };
}

function counted(label: string, counts: Readonly<Record<string, number>>): Fact[] {
  const text = formatCounts(counts);
  return text === '' ? [] : [[label, text]];
}

/** Failures and what was not judged are for preferences and rewards, and no examples. */
function imitatedText({ imitated, out }: DatasetReport): string {
  const text = `${formatCount(imitated)} of the accepted`;
  return imitated === 0 && out > 0 ? `${text}: none was found good (quality.imitation=any writes all of them)` : text;
}

/** Turns of the agent that are not to be learned, by the filter that removed them. */
function removedTurns({ filters }: DatasetReport): Record<string, number> {
  const removed = filters.filter(({ turnsIn, turnsOut }) => turnsIn !== turnsOut);
  return Object.fromEntries(removed.map(({ name, turnsIn, turnsOut }) => [name, turnsIn - turnsOut]));
}

/** State checks of simulated answers; empty without simulated answers. */
function checkTable({ answeredBy, stateChecks }: RowStatistics): Block[] {
  const calls = Object.values(answeredBy).reduce((sum, count) => sum + count, 0);
  const rows = STATE_CHECKS.flatMap((name) => {
    const found = stateChecks[name];
    if (found === undefined) return [];
    const { held, unchecked, refused } = found;
    return [[name, ...[held, refused, unchecked].map(formatCount), formatPercent((held + refused) / calls)]];
  });
  if (rows.length === 0) return [];
  const columns = ['check', 'held', 'refused', 'could not be read', 'decided, of all calls'];
  const note =
    'Simulated answers against the typed state; a refused one was repaired or not used. docs/tools.md says what each check is.';
  return [{ kind: 'table', title: 'State checks of simulated answers', columns, rows, note }];
}

const LOST_TASKS = 4;

/** What the agent cannot do yet; nothing where nothing was lost that can be named. */
function deficitTable(deficits: readonly Deficit[]): Block[] {
  if (deficits.length === 0) return [];
  return [
    {
      kind: 'table',
      title: 'What the agent cannot do yet',
      alignment: 'text',
      columns: ['lost by', 'episodes lost', 'tasks that it lost'],
      rows: deficits.map(({ name, lost, tasks }) => {
        const more = tasks.length > LOST_TASKS ? ` and ${formatCount(tasks.length - LOST_TASKS)} more` : '';
        const where = `${tasks.slice(0, LOST_TASKS).join(', ')}${more}`;
        return [name, formatCount(lost), where];
      }),
      note: 'What was done in the step that lost an episode, compared with what the task’s solution would have done there.',
    },
  ];
}

const SHOWN_TASKS = 16;

/** Hardest first: where a curriculum would look. */
function taskTable({ returnsByTask }: RowStatistics): Block[] {
  const rates = [...returnsByTask].map(([task, returns]) => ({ task, returns, rate: mean(returns) }));
  const hardest = rates.sort((a, b) => a.rate - b.rate || (a.task < b.task ? -1 : 1)).slice(0, SHOWN_TASKS);
  if (hardest.length === 0) return [];
  const rows = hardest.map(({ task, returns, rate }) => [task, formatPercent(rate), formatCount(returns.length)]);
  const note = `At most the ${SHOWN_TASKS} hardest.`;
  return [{ kind: 'table', title: 'Tasks', columns: ['task', 'mean reward', 'episodes'], rows, note }];
}

/** Episodes shown in full: the first of each outcome. */
const SHOWN_OF_EACH = 2;

async function shownEpisodes(episodes: AsyncIterable<EpisodeRecord>): Promise<Block[]> {
  const shown = new Map<string, Block[]>();
  for await (const record of episodes) {
    const outcome = outcomeText(record.outcome, record.return);
    const list = shown.get(outcome) ?? [];
    const title = [record.task, outcome, `row ${record.row}`].join(' · ');
    if (list.length < SHOWN_OF_EACH) shown.set(outcome, [...list, details(title, transcriptOf(record))]);
  }
  return [...shown.values()].flat();
}

function details(title: string, lines: readonly TranscriptLine[]): Block {
  return { kind: 'details', title, blocks: [{ kind: 'transcript', lines }] };
}

/** What was said, which calls were made, who answered them, and what was found at the end. */
function transcriptOf({
  messages,
  steps,
  lostStep,
  verdict,
  outcome,
  return: reward,
}: EpisodeRecord): TranscriptLine[] {
  const answers = new Map<string, Prediction>();
  for (const { message, predictions } of steps) {
    const turn = messages[message];
    const calls = turn?.role === 'assistant' ? (turn.toolCalls ?? []) : [];
    for (const [i, { id }] of calls.entries()) if (predictions[i] !== undefined) answers.set(id, predictions[i]);
  }
  const lost = lostStep === undefined ? undefined : steps[lostStep]?.message;
  const lines = messages.flatMap((message, at) => {
    if (message.role === 'system') return [];
    const line = lineOf(message, answers);
    return [at === lost ? { ...line, note: 'the step that lost it' } : line];
  });
  const marks = { true: '✓', false: '✗', null: '?' };
  const checks = verdict.checks.map(({ name, passed, reason }) => `${marks[`${passed}`]} ${name}: ${reason}`);
  const text = checks.join('\n') || 'nothing was checked';
  const why = outcome.cause === null ? '' : `; ${outcome.kind.replaceAll('_', ' ')}: ${outcome.cause}`;
  return [...lines, { role: 'verdict', text, note: `reward ${reward ?? 'none'}${why}` }];
}

const LONGEST = 1_500;

function lineOf(message: Message, answers: ReadonlyMap<string, Prediction>): TranscriptLine {
  const shortened = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text);
  if (message.role === 'tool') {
    const answer = answers.get(message.toolCallId);
    return { role: 'tool', text: shortened(message.content), ...(answer && { note: answerNote(answer) }) };
  }
  if (message.role === 'user') {
    const own = (message.calls ?? []).map(
      ({ name, arguments: given, answer }) => `[${name}(${JSON.stringify(given)}): ${answer}]`,
    );
    return { role: 'user', text: shortened([...own, message.content].join('\n')) };
  }
  if (message.role !== 'assistant') return { role: message.role, text: shortened(message.content) };
  const calls = (message.toolCalls ?? []).map(({ name, arguments: given }) => `${name}(${JSON.stringify(given)})`);
  const text = [message.content ?? '', ...calls].filter((part) => part !== '').join('\n');
  return { role: 'assistant', text: shortened(text) };
}

function answerNote({ backend, confidence, operations, refused, repaired, fault }: Prediction): string {
  const changes = operations.length === 0 ? '' : `, ${operations.length} changes`;
  const fate = refused === undefined ? (repaired ? ', repaired' : '') : ', refused';
  const wrong = fault === undefined ? '' : `, fault: ${fault.kind}`;
  return `${backend}, confidence ${confidence.toFixed(2)}${changes}${fate}${wrong}`;
}

export type RealEpisodesResult = Awaited<ReturnType<typeof episodesOf>>;

export const collectEpisodesJob = (context: Context) =>
  realEpisodesJob({ ...context, scenario: withoutFaults(context.scenario) }, 'collect');
export const evalEpisodesJob = (context: Context) => realEpisodesJob(context, 'eval');

async function realEpisodesJob(context: Context, job: 'collect' | 'eval'): Promise<RealEpisodesResult> {
  const { scenario, seed, inputs } = context;
  const parts = await makeParts({ ...context, real: true });
  let learner: TextLearner | undefined;
  try {
    if (inputs.checkpoint === undefined) return await episodesOf(context, parts, job);
    learner = await openTextLearner(scenario, seed, inputs.checkpoint);
    const agent = new TextPolicyAgent(learner.policy, textViewOf(parts.domain).lineOf);
    return await episodesOf(context, { ...parts, agent }, job, learner.policy.version);
  } finally {
    await learner?.close();
    await parts.close();
  }
}

/** @param policy  version of a policy of text, which is shown what there is to choose from */
async function episodesOf(context: Context, given: ToolsParts, job: 'collect' | 'eval', policy?: string) {
  const { out, scenario, progress, metrics } = context;
  const { synth, name } = scenario.config;
  const { domain, tasks } = await taskStage(context, given);
  const parts = { ...given, domain };
  const responder = realResponder(domain);
  const evaluationSet = episodesSet(context, parts, responder, tasks);
  const statistics = new RowStatistics();
  const [data, logs] = [join(out, 'data'), join(out, 'logs')];
  const phase = progress.phase('run', synth.episodes, 'episodes');
  const rows = await episodeRows(context, parts, {
    ...{ source: 'real', responder, tasks, keepPicture: pictureKeeper(data) },
    concurrency: elsewhere(domain)?.sessions,
    observe: (row) => statistics.add(row),
    onProgress: (done, trouble) => phase.set(done, [statistics.note, trouble].filter(Boolean).join(' · ')),
  });
  try {
    phase.end(statistics.note);
    const whole = (record: EpisodeRecord) => record;
    const log = ({ id, task, messages, verdict }: EpisodeRecord) => {
      return { id, task, messages: messages.map(loggedMessage), reward: verdict.reward };
    };
    for (const [folder, form] of [
      [data, whole],
      [logs, log],
    ] as const) {
      await ensureFolder(folder);
      await writeFileAtomic(join(folder, EPISODES_FILE), linesOf(rows, form));
    }
  } finally {
    await rows.journal.close();
  }
  const { spent, spentBy } = parts.budget;
  const stoppedBy = rows.stoppedBy ?? null;
  const facts: Fact[] = [
    ...(policy === undefined ? [] : [['policy', `${policy}. ${remarkOn('It')}`] as const]),
    ...episodeFacts(statistics, parts.budget, stoppedBy),
    ['data', data],
    ['logs', `${logs}, to be named in experience.logs`],
  ];
  const shown = { title: `Real episodes: ${name}`, blocks: [{ kind: 'facts', rows: facts }] } as const;
  return {
    ...{ job, family: 'tools', wallSeconds: metrics.wallSeconds, evaluationSet, data, logs, ...statistics.counts },
    ...{ spent, spentBy, stoppedBy },
    byTask: Object.fromEntries([...statistics.returnsByTask].map(([task, returns]) => [task, mean(returns)])),
    ...(policy !== undefined && { policy: { version: policy, choosesAmong: 'admissible commands' } }),
    report: await publish(context, shown, evaluationSet),
  };
}

/** Errors are marked, as not every text of an error says that it is one. */
function loggedMessage(message: Message): JsonObject {
  const isError = message.role === 'tool' && message.isError === true;
  return isError ? { ...openAiMessage(message), is_error: true } : openAiMessage(message);
}

async function* linesOf(
  { journal }: Awaited<ReturnType<typeof episodeRows>>,
  form: (record: EpisodeRecord) => object,
): AsyncGenerator<Uint8Array> {
  for (const row of journal.rows) {
    const value = await journal.read(row);
    if (!isFailed(value)) yield Buffer.from(`${JSON.stringify(form(value))}\n`);
  }
}
