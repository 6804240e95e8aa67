// Records in a training in a world of text: real episodes are gathered and kept, and a simulation is made of them, the backends that can
// be made of records behind the scenario's router, or a value model (VEM). A share of the episodes is held out, and says how far the
// simulation is from the real, or whether the model knows more than a constant; one that does not is not learned from. There is a file for
// each time that any were gathered and one of those that were imitated, so that a resumed run has them all:
//
//   records/000.jsonl              EpisodeRecord, a line each
//   records/demonstrations.jsonl   the same

import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NO_COST } from '../../../core/cost.js';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { mean, trustHorizon } from '../../../core/statistics.js';
import { applyOperations } from '../../../env/state/operations.js';
import { stateHash } from '../../../env/state/state.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import { realResponder } from '../../../env/tools/rules-responder.js';
import { initialStateOf } from '../../../env/tools/situation.js';
import { admissibleIn, type LineEnvironment } from '../../../env/tools/text-environment.js';
import type { Responder, ToolsPolicy } from '../../../env/tools/tools-family.js';
import { bootstrapEstimate } from '../../../fidelity/statistics.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import {
  type EpisodeRecord,
  type EpisodeStep,
  type ExperienceStep,
  episodeSteps,
  statesOf,
} from '../../../replay/experience/experience.js';
import { TextValueModel } from '../../../rl/text/text-learner.js';
import type { TextPolicy, TextSituation } from '../../../rl/text/text-policy.js';
import { type EndedRun, episodeRecord, planRow } from '../../../synth/episodes/run-episode.js';
import { fitBars, fitterOf } from '../../../synth/train-backend.js';
import { isWon, type PlayedText, TextPolicyAgent } from '../../../training/text-play.js';
import type { Gathered, TextDream, TextValues, ValueFit } from '../../../training/text-training.js';
import { fitValues, isKnown, recordedValues, returnsOf, type ValuedEpisode } from '../../../training/text-values.js';
import type { BackendEntry } from '../../../worldmodel/tools/backend-model.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { comparableObservation } from '../../../worldmodel/tools/checks.js';
import { backendSettings } from '../../../worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../worldmodel/tools/tools-model-schema.js';
import { digest, toolsSet } from '../../evaluation-set.js';
import { formatCount, formatPercent } from '../../format.js';
import { closedOnFailure, type JobContext } from '../../job.js';
import { layered, type ToolsScenario } from '../../scenario.js';
import { digestOf, requireInput } from '../inputs.js';
import { readEpisodes } from './gates.js';
import {
  agentOf,
  episodeSettings,
  lanes,
  makeResponder,
  rowsHere,
  type ToolsParts,
  textViewOf,
  withoutFaults,
} from './rows.js';

/** Real episodes in a training, by whom and of what. */
interface Gathering {
  readonly context: JobContext<ToolsScenario>;
  readonly parts: ToolsParts;
  readonly tasks: readonly ToolsTask[];
  /** Times that an earlier process of the run gathered. */
  readonly gathered: number;
}

/** What demonstrations are played with. */
const DEMONSTRATION_SEED = 0;

class GatheredRecords<G extends Gathering = Gathering> {
  private demonstrations: EpisodeRecord[] | undefined;
  private readonly records: EpisodeRecord[] = [];

  constructor(protected readonly given: G) {}

  /** Runs and keeps the episodes of one time; tasks come in an order of their own, all of them before any comes again. */
  protected async gatherBy(agent: ToolsPolicy, time: number) {
    const { context, parts, tasks, gathered } = this.given;
    const { signal, seed, progress } = context;
    const { episodes } = this.section;
    if (this.records.length === 0) await this.reread(Math.min(time, gathered));
    const root = Rng.fromSeed(seed).split('gather');
    const order = root.permutation(tasks.length);
    const run = await rowsHere(
      { seed, scenario: withoutFaults(context.scenario) },
      { ...parts, agent },
      { source: 'real', responder: realResponder(parts.domain) },
    );
    const phase = progress.phase('gather', episodes, 'real episodes');
    const made: EpisodeRecord[] = [];
    for (let row = time * episodes; row < (time + 1) * episodes; row++) {
      signal.throwIfAborted();
      const plan = planRow(row, { seed: root.split('rows').uint32(), groupSize: 1, branchAt: 0 });
      const task = tasks[order[row % tasks.length]];
      made.push(await run({ plan, task }, signal));
      phase.advance();
    }
    phase.end();
    await writeRecords(this.fileOf(time), made);
    this.records.push(...made);
    return {
      episodes: made.length,
      steps: made.reduce((sum, { steps }) => sum + steps.length, 0),
      wins: made.filter(({ return: reward }) => isWon({ reward })).length,
      agent: agent.version,
    };
  }

  /** Keeps the episodes that were imitated, as records of the same form. */
  async remember(shown: readonly PlayedText[]): Promise<void> {
    const { context, parts } = this.given;
    const { domain } = parts;
    const responder = realResponder(domain);
    const settings = episodeSettings(context, parts, { source: 'real', responder });
    const seed = Rng.fromSeed(context.seed).split('demonstrations').uint32();
    this.demonstrations = shown.map((played, row) => {
      const plan = { ...planRow(row, { seed, groupSize: 1, branchAt: 0 }), envSeed: DEMONSTRATION_SEED };
      const task = domain.tasks.find(({ id }) => id === played.task)!;
      return episodeRecord(livedOf(played, domain, task), task, plan, { ...settings, seed });
    });
    await writeRecords(this.demonstrationsFile, this.demonstrations);
  }

  /** What an earlier process left. @throws CHECKPOINT_CORRUPT where the run's own file is gone or damaged */
  protected async reread(times: number): Promise<void> {
    for (let time = 0; time < times; time++) this.records.push(...(await readRecords(this.fileOf(time))));
  }

  protected get section() {
    return this.given.context.scenario.config.train.gather!;
  }

  /** Every so many episodes one is held out, those of each time alike. What was imitated is used whole. */
  protected async split() {
    const { demonstrationsFile: file, section } = this;
    const { heldOut: share } = section;
    this.demonstrations ??= existsSync(file) ? await readRecords(file) : [];
    const isHeldOut = (i: number) => Math.floor((i + 1) * share) > Math.floor(i * share);
    const used = this.records.filter((_, i) => !isHeldOut(i));
    return { used, heldOut: this.records.filter((_, i) => isHeldOut(i)), demonstrations: this.demonstrations };
  }

  private fileOf(time: number): string {
    return join(this.given.context.out, 'records', `${String(time).padStart(3, '0')}.jsonl`);
  }

  private get demonstrationsFile(): string {
    return join(this.given.context.out, 'records', 'demonstrations.jsonl');
  }
}

/** What was imitated, in the form of what agents do. */
function livedOf({ steps, messages }: PlayedText, domain: ToolsDomain, task: ToolsTask): EndedRun {
  const said = messages.flatMap((message, i) => (message.role === 'assistant' ? [{ ...message, at: i }] : []));
  const turns = said.slice(-steps.length);
  let state = initialStateOf(domain, task);
  const kept = steps.map(({ reward, info: { predictions } }, i): EpisodeStep => {
    const { at: message, role: _role, ...action } = turns[i];
    for (const { operations } of predictions) state = applyOperations(state, operations);
    return { message, action, predictions, reward, stateHash: stateHash(state) };
  });
  const { verdict, outcome } = steps.at(-1)!.info;
  return {
    ...{ messages, steps: kept, terminated: verdict !== undefined, truncated: false },
    verdict: verdict ?? { reward: null, checks: [] },
    outcome: outcome ?? { kind: 'judged', cause: 'it did not end' },
    ...{ policyVersion: 'demonstrated', cost: NO_COST },
  };
}

async function writeRecords(file: string, records: readonly EpisodeRecord[]): Promise<void> {
  await ensureFolder(dirname(file));
  await writeFileAtomic(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

async function readRecords(path: string): Promise<EpisodeRecord[]> {
  try {
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as EpisodeRecord);
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}

/** Steps as the store of experience has real ones: of no row of a job, and by no model. */
export function realSteps(domain: ToolsDomain, records: readonly EpisodeRecord[]): ExperienceStep[] {
  return records.flatMap((record) => {
    const task = domain.tasks.find(({ id }) => id === record.task)!;
    const states = statesOf(record, stateHash(initialStateOf(domain, task)));
    return episodeSteps(record, states).map((step) => ({ ...step, row: -1, modelVersion: '' }));
  });
}

type Model = ToolsScenarioConfig['model'];

export class RecordedDream extends GatheredRecords<Gathering & { readonly policy: TextPolicy }> implements TextDream {
  private now: Promise<readonly LineEnvironment[]> | undefined;

  environments(): Promise<readonly LineEnvironment[]> {
    this.now ??= this.reopened();
    return this.now;
  }

  async gather(time: number): Promise<Gathered> {
    const { parts, policy } = this.given;
    const agent =
      time > 0
        ? new TextPolicyAgent(policy, textViewOf(parts.domain).lineOf)
        : await agentOf(this.section, parts.cast, parts.domain);
    const gathered = await this.gatherBy(agent, time);
    const { model, made } = await this.fit(time);
    const responder = await this.responder(model);
    this.now = Promise.resolve(this.lanes(responder));
    return { ...gathered, made, ...(await this.compare(responder)) };
  }

  /** What an earlier process left: the same records make the same dream. */
  private async reopened(): Promise<readonly LineEnvironment[]> {
    const { gathered, context } = this.given;
    if (gathered === 0) return this.lanes(await this.responder(context.scenario.config.model));
    await this.reread(gathered);
    const { model } = await this.fit(gathered - 1);
    return this.lanes(await this.responder(model));
  }

  private lanes(responder: Responder): LineEnvironment[] {
    return lanes(this.given.parts, responder, this.given.context.scenario.config);
  }

  /** Every backend that can be made of records, made of those that are not held out. */
  private async fit(time: number): Promise<{ model: Model; made: string[] }> {
    const { context, parts } = this.given;
    const { domain } = parts;
    const { signal, out, seed, progress } = context;
    const { used, demonstrations } = await this.split();
    const episodes = [...demonstrations, ...used];
    const steps = realSteps(domain, episodes);
    await parts.experience.add(steps);
    const made: string[] = [];
    let { model } = context.scenario.config;
    for (const name of model.backends) {
      const fitBackend = await fitterOf(name);
      if (fitBackend === undefined) continue;
      const folder = join(out, 'dream', String(time).padStart(3, '0'), name);
      await ensureFolder(folder);
      const settings = backendSettings(routerBackends.get(name), model);
      const rng = Rng.fromSeed(seed).split('fit', name, time);
      const { phase } = progress;
      const fitted = await fitBackend({ domain, episodes, steps, settings, folder, rng, signal, phase });
      made.push(`${name}: ${fitted.about}${fitted.isReady ? '' : ' (not good enough yet, and left out)'}`);
      const backends = model.backends.filter((one) => fitted.isReady || one !== name);
      if (backends.length === 0)
        throw reverieError('SCENARIO_UNFIT', {
          problem: `No backend of the world model can answer calls of domain "${domain.id}": ${made.join('; ')}.`,
          hint: 'Give the domain rules.js, records to replay or a language model (section llm), and name it in model.backends.',
        });
      model = parseToolsModelConfig(layered({ ...model, backends }, fitted.isReady ? { [name]: fitted.settings } : {}));
    }
    return { model, made };
  }

  private responder(model: Model): Promise<Responder> {
    const { context, parts } = this.given;
    const { folder } = context.scenario;
    return makeResponder({ model }, parts.domain, parts.experience, parts.cast, { folder, device: context.device });
  }

  /** Held-out episodes, each recorded call put to `responder` in the state that it was made in. */
  private async compare(responder: Responder): Promise<Pick<Gathered, 'heldOut' | 'trustHorizon'>> {
    const { context, parts } = this.given;
    const { domain } = parts;
    const { heldOut } = await this.split();
    if (heldOut.length === 0) return { heldOut: null, trustHorizon: null };
    let [steps, wrongStates, wrongObservations] = [0, 0, 0];
    for (const { task: id, seed, steps: turns, messages } of heldOut) {
      context.signal.throwIfAborted();
      const task = domain.tasks.find((one) => one.id === id)!;
      let state = initialStateOf(domain, task);
      let step = 0;
      for (const { action, message, predictions } of turns) {
        for (const [i, real] of predictions.entries()) {
          const call = action.toolCalls![i];
          const shown = messages.slice(0, message + 1);
          const predicted = await responder.answer({ domain, task, state, messages: shown, call, step: step++, seed });
          const after = stateHash(applyOperations(state, predicted.operations));
          state = applyOperations(state, real.operations);
          steps++;
          if (after !== stateHash(state)) wrongStates++;
          if (comparableObservation(predicted.observation) !== comparableObservation(real.observation))
            wrongObservations++;
        }
      }
    }
    return {
      heldOut: { steps, wrongStates, wrongObservations },
      trustHorizon: trustHorizon(wrongStates, steps, context.scenario.config.fidelity.tolerance),
    };
  }
}

export class RecordedValues extends GatheredRecords implements TextValues {
  private made: ReturnType<typeof this.make> | undefined;

  async gather(time: number): Promise<Gathered> {
    const { context, parts } = this.given;
    const { gamma } = context.scenario.config.rl;
    const gathered = await this.gatherBy(await agentOf(this.section, parts.cast, parts.domain), time);
    this.made = this.make();
    const { model, used, heldOut, skipped } = await this.made;
    const rng = Rng.fromSeed(context.seed).split('values', 'compare');
    const values = { ...(await compareValues(model, used, heldOut, gamma, rng)), skipped };
    requireSkill(values);
    const made = [`value model: ${model.version}, ${model.parameters} parameters, of ${values.steps} recorded steps`];
    return { ...gathered, made, heldOut: null, trustHorizon: null, values };
  }

  async situations(): Promise<readonly TextSituation[]> {
    return (await this.reopened()).situations;
  }

  async values(situations: readonly TextSituation[]): Promise<Float32Array[]> {
    return (await this.reopened()).model.values(situations);
  }

  async close(): Promise<void> {
    await (await this.made?.catch(() => undefined))?.model.close();
  }

  /** What an earlier process left: the same records make the same model. */
  private reopened() {
    this.made ??= this.reread(this.given.gathered).then(() => this.make());
    return this.made;
  }

  private async make() {
    const { context, parts } = this.given;
    const { rl, train } = context.scenario.config;
    const { used, heldOut, demonstrations } = await this.split();
    let skipped = 0;
    const read = recordReader(parts.domain, rl.rewards ?? 'paid', () => skipped++);
    const episodes = read([...demonstrations, ...used]);
    const others = read(heldOut);
    const model = await TextValueModel.make(rl.relevance, Rng.fromSeed(context.seed).split('values', 'weights'));
    const { epochs = 20, lr = 2e-3 } = train.value ?? {};
    const bar = context.progress.phase('value model', epochs, 'epochs');
    const rng = Rng.fromSeed(context.seed).split('values', 'fit');
    const settings = { epochs, lr, gamma: rl.gamma };
    const onEpoch = (error: number) => {
      context.signal.throwIfAborted();
      bar.advance(1, `error ${error.toFixed(4)}`);
    };
    await closedOnFailure(model, () => fitValues(model, episodes, settings, rng, onEpoch));
    bar.end();
    const situations = episodes.flatMap(({ steps }) =>
      steps.flatMap((step) => ('situation' in step ? [step.situation] : [])),
    );
    return { model, situations, used: episodes, heldOut: others, skipped };
  }
}

/**
 * Reads recorded episodes as a policy of text would have seen them: each situation with its choices, the one that was made, and its reward.
 * @param skip  called for each step of which the action was not among the choices
 */
function recordReader(domain: ToolsDomain, rewards: 'paid' | 'verdict', skip: () => void) {
  // Nothing is decided: the agent tells what it would choose among.
  const agent = new TextPolicyAgent({ version: 'recorded', decide: async () => [] }, textViewOf(domain).lineOf);
  /** What a policy would have been paid: what the verdict adds is paid at the end. */
  const rewardsOf = ({ steps, return: total }: EpisodeRecord): number[] => {
    const last = steps.length - 1;
    if (rewards === 'verdict') return steps.map((_, t) => (t === last && isWon({ reward: total }) ? 1 : 0));
    const paid = steps.reduce((sum, { reward }) => sum + (reward ?? 0), 0);
    return steps.map(({ reward }, t) => (reward ?? 0) + (t === last ? total! - paid : 0));
  };
  const episode = (record: EpisodeRecord): ValuedEpisode => {
    const task = domain.tasks.find(({ id }) => id === record.task)!;
    const paid = rewardsOf(record);
    let state = initialStateOf(domain, task);
    const steps = record.steps.map(({ message, action, predictions }, step): ValuedEpisode['steps'][number] => {
      const now = state;
      for (const { operations } of predictions) state = applyOperations(state, operations);
      const messages = record.messages.slice(0, message);
      const admissible = () => admissibleIn(domain, now);
      const query = { messages, tools: domain.tools, task, seed: record.seed, step, admissible };
      const { situation } = agent.situation(query);
      const choice = situation.admissible.indexOf(agent.said(action));
      const reward = paid[step];
      if (choice >= 0) return { situation, choice, reward, state: stateHash(now) };
      skip();
      return { reward };
    });
    return { steps, won: isWon({ reward: record.return }) };
  };
  /** Those that could be judged. */
  return (records: readonly EpisodeRecord[]): ValuedEpisode[] =>
    records.flatMap((record) => (record.return === null ? [] : [episode(record)]));
}

type Comparison = Omit<ValueFit, 'skipped'>;

/**
 * A value model beside recorded episodes that it was not made of: does it know more than a constant?
 * @param gamma  as the model was fitted with
 */
export async function compareValues(
  model: Pick<TextValueModel, 'values'>,
  used: readonly ValuedEpisode[],
  heldOut: readonly ValuedEpisode[],
  gamma: number,
  rng: Rng,
): Promise<Comparison> {
  const returns = ({ steps }: ValuedEpisode) => {
    const rewards = steps.map(({ reward }) => reward);
    return returnsOf(rewards, gamma);
  };
  const known = used.flatMap((episode) => returns(episode).filter((_, t) => isKnown(episode.steps[t])));
  const constant = mean(known);
  const values = await recordedValues(model, heldOut);
  /** Squared errors of each step: of the model, and of the constant. */
  const errors = heldOut.map((episode, e) =>
    returns(episode).flatMap((came, t) =>
      isKnown(episode.steps[t]) ? [[(came - values[e][t]!) ** 2, (came - constant) ** 2] as const] : [],
    ),
  );
  const sumOf = (steps: readonly (readonly [number, number])[], which: 0 | 1) =>
    steps.reduce((sum, step) => sum + step[which], 0);
  const skillOf = (episodes: readonly (typeof errors)[number][]) => {
    const base = sumOf(episodes.flat(), 1);
    return base === 0 ? null : 1 - sumOf(episodes.flat(), 0) / base;
  };
  const { value, low, high } = bootstrapEstimate(errors, skillOf, rng);
  const steps = errors.flat();
  const count = Math.max(steps.length, 1);
  return {
    ...{ episodes: used.length, steps: known.length, heldOutEpisodes: heldOut.length, heldOutSteps: steps.length },
    ...{ error: sumOf(steps, 0) / count, constantError: sumOf(steps, 1) / count, skill: { value, low, high } },
  };
}

/** The gate: a model that is no better than a constant would teach noise. @throws DOMAIN_UNFIT */
export function requireSkill({ steps, heldOutSteps, skill, error, constantError }: Comparison): void {
  if (skill.low !== null && skill.low > 0) return;
  const low = skill.low === null ? 'unknown' : skill.low.toFixed(3);
  const none = heldOutSteps === 0 ? 'no recorded step was held out' : 'all steps that were held out came to the same';
  const problem =
    skill.value === null
      ? `${none}, so that nothing says whether it knows more than a constant`
      : `on ${heldOutSteps} steps that were held out its squared error is ${error.toFixed(4)}, and that of a constant ${constantError.toFixed(4)} (skill ${skill.value.toFixed(3)}, at least ${low} with 95 % confidence)`;
  throw reverieError('SCENARIO_UNFIT', {
    problem: `The value model of ${steps} recorded steps is not learned from: ${problem}.`,
    hint: 'Gather more episodes, some of which are won (train.gather.episodes, train.gather.agent), hold out more of them (train.gather.heldOut), or change its passes (train.value.epochs).',
  });
}

// `reverie fit` of a tools scenario: the backend that learns is fitted to recorded episodes.

type Learned = BackendEntry & Required<Pick<BackendEntry, 'fit'>>;

export type BackendFitResult = Awaited<ReturnType<typeof fitBackendJob>>;

export async function fitBackendJob(context: JobContext<ToolsScenario>) {
  const { scenario, inputs, out, seed, signal, metrics, progress } = context;
  metrics.rewind();
  const { config, folder } = scenario;
  const data = requireInput(inputs, 'episodes', 'data');
  const domain = await makeDomain(config.domain, { folder });
  const model = join(out, 'model');
  const work = join(out, 'training');
  try {
    const entry = learnedBackend(config.model.backends, domain);
    const settings = backendSettings(entry, config.model);
    // It is judged on tasks held out of the same records.
    const policies = { learner: `${entry.name}@${digest(settings)}`, data: await digestOf(data) };
    const evaluationSet = toolsSet(context, domain, [], policies, {});
    const learn = await entry.fit();
    const episodes: EpisodeRecord[] = [];
    for await (const episode of readEpisodes(data)) episodes.push(episode);
    const { onProgress, end } = fitBars(progress.phase);
    const rng = Rng.fromSeed(seed).split('fit', entry.name);
    const fitted = await learn({ domain, episodes, work, out: model, signal, settings, rng, onProgress });
    end();
    await rm(work, { recursive: true, force: true });
    const { version, exactness, isReady, report } = fitted;
    metrics.write({ kind: 'fit', modelVersion: version, ...report });
    const bar = `model.${entry.name}.minExactness`;
    const rows = [
      ['learned from', `${formatCount(report.learnedFrom)} steps of ${formatCount(episodes.length)} episodes`],
      ['judged by', `${formatCount(report.steps)} steps of tasks that it did not learn from`],
      ['exact state', formatPercent(report.stateExact)],
      ['exact text', formatPercent(report.textExact)],
      ['exact end', formatPercent(report.endExact)],
      ['confident', `${formatPercent(report.sure)}, of these exact ${formatPercent(report.exactOfSure)}`],
      ['gate', isReady ? 'open' : `SHUT: too often wrong to be used; ${bar} is the bar`],
      ['model', `${model} (${version})`],
    ] as const;
    context.show({ title: '', blocks: [{ kind: 'facts', rows }] });
    return {
      ...{ job: 'fit', family: 'tools', wallSeconds: metrics.wallSeconds, evaluationSet, backend: entry.name, model },
      ...{ modelVersion: version, episodes: episodes.length, exactness, isReady, heldOut: report },
    };
  } finally {
    domain.close();
  }
}

/** The first of a scenario's backends that learns; where none does, the only one there is for such a domain. */
function learnedBackend(names: readonly string[], domain: ToolsDomain): Learned {
  const learned = routerBackends
    .list()
    .filter((entry): entry is Learned => entry.fit !== undefined && (entry.learns?.(domain) ?? true));
  const [named] = names.flatMap((name) => learned.filter((entry) => entry.name === name));
  const found = named ?? (learned.length === 1 ? learned[0] : undefined);
  if (found !== undefined) return found;
  const problem = `it lists none that learns from records: ${learned.map(({ name }) => name).join(', ') || 'none can here'}.`;
  throw reverieError('SCENARIO_INVALID', { path: 'model.backends', problem });
}
