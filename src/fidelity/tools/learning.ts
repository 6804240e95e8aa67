// What dreamt episodes are worth to a learner of tools: demonstrations are lived for real and dreamt again, task by task, and the
// same learner, given as many of them, is judged for real in tasks of other families.

import { NO_COST } from '../../core/cost.js';
import { Rng } from '../../core/rng.js';
import { concurrently } from '../../core/threads.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { Responder, ToolsAction, ToolsPolicy, ToolsPolicyQuery } from '../../env/tools/tools-family.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { Source } from '../../replay/transition.js';
import { RandomAgent, ReferenceAgent } from '../../synth/episodes/agents/baseline-agents.js';
import { planRow, runEpisode } from '../../synth/episodes/run-episode.js';
import type { Instrument } from '../instrument.js';
import { type Choice, ChoiceModel, ChoosingAgent, shownChoices } from '../learning/choosing-agent.js';
import { type LearningSource, learningInstrument, type Ratio, unlearnable } from '../learning/learning.js';
import type { FidelitySetup } from '../setup.js';
import { type EpisodeStage, episodeEnvironment } from './episodes.js';
import { shuffled } from './question.js';

type Parts = Pick<EpisodeStage, 'domain' | 'user'>;

/** Episodes that are lived at once: in a dream of a language model they wait most of the time. */
const CONCURRENT_EPISODES = 8;
/** Share of the families that demonstrations are of. */
const SHOWN_SHARE = 2 / 3;

/** Without rules of the domain, or two tasks with a solution, nothing is measured and the section says so. */
export function toolsLearningInstrument(
  setup: FidelitySetup<ToolsScenario>,
  parts: Parts,
  dream: Responder,
): Instrument {
  const { domain } = parts;
  if (domain.rules === undefined)
    return unlearnable('The domain has no exact rules, so that no learner can be judged.');
  const tasks = domain.tasks.filter(({ reference, verifier }) => reference !== undefined && !verifier.rubric?.length);
  if (tasks.length < 2) {
    return unlearnable(
      'Fewer than two tasks have reference calls and can be decided without a judge: none to hold out.',
    );
  }
  const source = new ToolsLearners(setup, parts, dream, tasks);
  const { demonstrations, episodes } = setup.scenario.config.fidelity.learning;
  const note = `Learners choose among actions that are proposed to them, right and wrong ones, as was chosen in episodes that went well. ${demonstrations} demonstrations by agents that know each task's solution and get a share of it wrong; the learners of each seed are given those of two thirds of the ${source.groups}, and judged by ${episodes} real episodes at most in the others. They invent no actions of their own.`;
  return learningInstrument(source, { seed: setup.seed, unit: 'episodes', notes: [note] });
}

/** What is learned from an episode that was lived. */
interface Shown {
  readonly task: ToolsTask;
  readonly choices: readonly Choice[];
}

class ToolsLearners implements LearningSource {
  readonly ratios: readonly number[];
  readonly seeds: number;
  private readonly root: Rng;
  private readonly groupOf: (task: ToolsTask) => string;
  private readonly shown = new Map<Source, Promise<readonly Shown[]>>();

  constructor(
    private readonly setup: FidelitySetup<ToolsScenario>,
    private readonly parts: Parts,
    private readonly dream: Responder,
    private readonly tasks: readonly ToolsTask[],
  ) {
    const { ratios, seeds } = setup.scenario.config.fidelity.learning;
    this.ratios = [...new Set([0, ...ratios])];
    this.seeds = seeds;
    this.root = Rng.fromSeed(setup.seed).split('learning');
    const families = new Set(tasks.map(({ family }) => family));
    this.groupOf = families.size > 1 ? ({ family }) => family : ({ id }) => id;
  }

  /** What demonstrations and judged episodes have none in common of. */
  get groups(): string {
    const names = new Set(this.tasks.map(this.groupOf));
    return `${names.size} ${names.size === this.tasks.length ? 'tasks' : 'families of tasks'}`;
  }

  async learn(ratio: Ratio, seed: number, signal?: AbortSignal): Promise<readonly number[]> {
    const rng = this.root.split('learner', seed);
    const shown = this.shownGroups(rng);
    const demonstrations = ratio === null ? [] : await this.mixture(ratio, shown, rng, signal);
    const model = new ChoiceModel(demonstrations.flatMap(({ choices }) => choices));
    return this.judge(new ChoosingAgent(model, proposals), shown, rng, signal);
  }

  private shownGroups(rng: Rng): ReadonlySet<string> {
    const groups = shuffled([...new Set(this.tasks.map(this.groupOf))], rng.split('groups'));
    const count = Math.min(groups.length - 1, Math.max(1, Math.round(SHOWN_SHARE * groups.length)));
    return new Set(groups.slice(0, count));
  }

  /** The seed's demonstrations, a share of them drawn at random in their dreamt form. */
  private async mixture(
    ratio: number,
    shown: ReadonlySet<string>,
    rng: Rng,
    signal?: AbortSignal,
  ): Promise<readonly Shown[]> {
    const isShown = ({ task }: Shown) => shown.has(this.groupOf(task));
    const real = (await this.demonstrations('real', signal)).filter(isShown);
    if (ratio === 0) return real;
    const dreamt = (await this.demonstrations('synthetic', signal)).filter(isShown);
    const order = shuffled(
      real.map((_, i) => i),
      rng.split('mixture'),
    );
    const replaced = new Set(order.slice(0, Math.round(ratio * real.length)));
    return real.map((one, i) => (replaced.has(i) ? dreamt[i] : one));
  }

  /** Lived once for all learners. */
  private demonstrations(source: Source, signal?: AbortSignal): Promise<readonly Shown[]> {
    const known = this.shown.get(source) ?? this.demonstrate(source, signal);
    this.shown.set(source, known);
    return known;
  }

  /** The same tasks, agents and seeds in both worlds, all tasks in turn before one comes again. */
  private demonstrate(source: Source, signal?: AbortSignal): Promise<readonly Shown[]> {
    const order = shuffled(this.tasks, this.root.split('tasks'));
    const { demonstrations } = this.setup.scenario.config.fidelity.learning;
    return concurrently(Array.from({ length: demonstrations }), CONCURRENT_EPISODES, async (_, row) => {
      const task = order[row % order.length];
      const agent = DEMONSTRATORS[(row + Math.floor(row / order.length)) % DEMONSTRATORS.length];
      const record = await this.live(agent, task, row, source, signal);
      const seed = this.root.split('beside', row).uint32();
      return { task, choices: shownChoices({ task, record, seed }, proposals, this.parts.domain.tools) };
    });
  }

  private async judge(
    agent: ToolsPolicy,
    shown: ReadonlySet<string>,
    rng: Rng,
    signal?: AbortSignal,
  ): Promise<readonly number[]> {
    const { demonstrations, episodes } = this.setup.scenario.config.fidelity.learning;
    const others = this.tasks.filter((task) => !shown.has(this.groupOf(task)));
    const held = shuffled(others, rng.split('judge')).slice(0, episodes);
    const records = await concurrently(held, CONCURRENT_EPISODES, (task, i) =>
      this.live(agent, task, demonstrations + i, 'real', signal),
    );
    return records.flatMap((record) => record.return ?? []);
  }

  private live(
    agent: ToolsPolicy,
    task: ToolsTask,
    row: number,
    source: Source,
    signal?: AbortSignal,
  ): Promise<EpisodeRecord> {
    const { scenario, seed } = this.setup;
    const responder = source === 'real' ? rulesResponder(this.parts.domain) : this.dream;
    const environment = episodeEnvironment(this.parts, responder, scenario);
    const plan = planRow(row, { seed, groupSize: 1, branchAt: 0 });
    const settings = {
      scenario: scenario.config.name,
      scenarioHash: scenario.hash,
      seed,
      source,
      responderVersion: responder.version,
      userVersion: this.parts.user.version,
      maxSteps: scenario.config.synth.maxSteps,
      weigh: () => 1,
    };
    return runEpisode(environment, agent, task, plan, settings, signal);
  }
}

// Who shows learners of tools what can be done, right and wrong, and what learners choose among. None needs a language model.

/** Calls of an episode that a proposal at random is made in. */
const ALWAYS = Number.MAX_SAFE_INTEGER;
const DONE = 'That is done. Is there anything else I can help with?';

/** Does the task's known way to fail of this number; where it has none, errs in half of its calls. */
class FailingAgent implements ToolsPolicy {
  readonly version: string;
  private readonly other = new ReferenceAgent(0.5);
  private readonly reference = new ReferenceAgent(0);

  constructor(private readonly number: number) {
    this.version = `fails in way ${number}`;
  }

  act(query: ToolsPolicyQuery) {
    const { failures = [] } = query.task;
    if (failures.length === 0) return this.other.act(query);
    const reference = failures[this.number % failures.length];
    return this.reference.act({ ...query, task: { ...query.task, reference } });
  }
}

/** In turn: those who know the solution, those who get a share of it wrong, and those who fail in ways that are known. */
const DEMONSTRATORS: readonly ToolsPolicy[] = [
  new ReferenceAgent(0),
  new FailingAgent(0),
  new ReferenceAgent(0.3),
  new FailingAgent(1),
  new ReferenceAgent(0.6),
  new FailingAgent(2),
  new ReferenceAgent(1),
];

const PROPOSERS: readonly ToolsPolicy[] = [
  new ReferenceAgent(0),
  new ReferenceAgent(0.5),
  new ReferenceAgent(1),
  new FailingAgent(0),
  new FailingAgent(1),
  new FailingAgent(2),
  new RandomAgent(ALWAYS),
  { version: 'is done', act: ({ task }) => ({ action: { content: task.reference?.say ?? DONE }, cost: NO_COST }) },
];

/** What each of several agents would do next; which errors they make depends on the query's seed and step. */
function proposals(query: ToolsPolicyQuery): ToolsAction[] {
  const rng = Rng.fromSeed(query.seed).split('proposals', query.step);
  return PROPOSERS.map((agent, i) => {
    const said = agent.act({ ...query, seed: rng.split('proposer', i).uint32() });
    return (said as { readonly action: ToolsAction }).action;
  });
}
