// Noise of rewards. The scenario's agent runs each task once; then one source of randomness is redrawn while the others
// stay fixed: the world, given the same actions; the judge, given the same transcript; the agent; the user; and all
// together. The variation of a task's rewards is that source's share, in units of the reward.

import { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { settle, withAnswers } from '../../env/tools/outcome.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { CallQuery, Responder, ToolsPolicy, UserQuery, UserSimulator } from '../../env/tools/tools-family.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { settleVerdict } from '../../synth/episodes/run-episode.js';
import { type Finding, figuresOf, findingOf, type Instrument, metricTable, shown, type Value } from '../section.js';
import { type Estimate, leastGain, meanEstimate, NOTHING, noiseEstimate } from '../statistics.js';
import { patientAnswer, patiently } from './answers.js';
import { answersIn, carryOut, endOf, runFidelityEpisode, shuffled } from './episodes.js';
import type { ToolsGround } from './judged.js';

const SOURCES = ['world', 'judge', 'agent', 'user', 'total'] as const;
type NoiseSource = (typeof SOURCES)[number];

/** Rewards of a task: the first run, then the repetitions; null if not decided or not answered. */
type NoiseRow = { readonly task: string } & { readonly [source in NoiseSource]: readonly Value[] };

const METRICS = metricTable(`
total  | lower   | return | Noise of the reward | Standard deviation of an episode's reward where everything is drawn again: world, judge, agent and user.
world  | lower   | return | Noise of the world | The same where the world alone draws again and the agent does the same: what a simulation adds by itself.
judge  | lower   | return | Noise of the judge | The same where the same transcript is judged again.
agent  | neither | return | Noise of the agent | The same where the agent alone draws again.
user   | lower   | return | Noise of the user | The same where the user alone draws again.
reward | neither | return | Mean reward | Of the scenario's agent in the simulation, over all plays in which everything was drawn again.
floor  | neither | return | Least gain that is no noise | Two runs of as many plays must differ by more in their mean reward before one may be called better.
`);

const NOT_PLAYED = 'No task was played twice and decided, so that its noise is not known.';

type Played = Pick<ToolsGround, 'setup' | 'domain' | 'user' | 'judge' | 'agent'> & { readonly responder: Responder };

export function toolsNoise(played: Played): Instrument<NoiseRow> {
  const { setup, domain } = played;
  const { noise } = setup.scenario.config.fidelity;
  const tasks = shuffled(domain.tasks, Rng.fromSeed(setup.seed).split('noise-tasks')).slice(0, noise.tasks);
  return {
    id: 'noise',
    chunks: noise.repeats === 0 ? 0 : tasks.length,
    measure: async (task, signal) => [await playedAgain(played, tasks[task], task, noise.repeats, signal)],
    conclude: (rows) => concluded(rows, noise.repeats),
  };
}

async function playedAgain(
  { setup: { scenario, seed }, domain, user, judge, agent, responder }: Played,
  task: ToolsTask,
  row: number,
  repeats: number,
  signal?: AbortSignal,
): Promise<NoiseRow> {
  /** Seed of the redrawn source in a repetition; undefined for the first seed. */
  const drawn = (who: string, repeat: number, isDrawn: boolean) => {
    const rng = Rng.fromSeed(seed).split('noise', row, repeat).split(who);
    return isDrawn ? rng.int(2 ** 31 - 1) : undefined;
  };
  const play = (source: NoiseSource | 'first', repeat: number) => {
    const again = (who: NoiseSource) => drawn(who, repeat, source === who || source === 'total');
    const decide =
      judge && (((ended, stop) => judge.decide({ ...ended, seed: again('judge') }, stop)) as typeof judge.decide);
    const stage = {
      ...{ scenario, domain, seed, judge: decide },
      responder: reseeded(responder, again('world')),
      user: otherUser(user, again('user')),
    };
    const cast = { task, agent: otherAgent(agent, again('agent')), row, source: 'synthetic' } as const;
    return patiently(() => runFidelityEpisode(stage, cast, signal));
  };
  const first = await play('first', 0);
  /** The verdict on the first actions, with a redrawn world or judge. */
  const again = async (record: EpisodeRecord, source: 'world' | 'judge', repeat: number): Promise<Value> => {
    let [finalState, messages, predictions] = [endOf(domain, task, record), record.messages, answersIn(record)];
    if (source === 'world') {
      const answering = reseeded(responder, drawn('world', repeat, true));
      const answer = (query: CallQuery) => patientAnswer(answering, query, signal);
      const carried = await carryOut(domain, task, record.messages, answer, record.seed);
      if (!carried.isWhole) return null;
      finalState = carried.finalState;
      messages = [...carried.messages];
      predictions = carried.steps.map(({ prediction }) => prediction);
    }
    const end = { initialState: initialStateOf(domain, task), finalState, messages };
    const facts = withAnswers({}, predictions, domain.rules?.earned);
    const ended = { domain, task, end, ...settle(verifyEpisode(domain, task, end), facts), facts };
    const own = drawn('judge', repeat, source === 'judge');
    const settled = await patiently(() => settleVerdict({ ...ended, seed: own }, { judge: judge?.decide }, signal));
    return settled?.verdict.reward ?? null;
  };
  const rewards = { world: [], judge: [], agent: [], user: [], total: [] } as Record<NoiseSource, Value[]>;
  for (const source of SOURCES) {
    rewards[source].push(first?.return ?? null);
    for (let repeat = 1; repeat <= repeats && first !== undefined; repeat++)
      rewards[source].push(
        source === 'world' || source === 'judge'
          ? await again(first, source, repeat)
          : ((await play(source, repeat))?.return ?? null),
      );
  }
  return { task: task.id, ...rewards };
}

function reseeded(responder: Responder, seed: number | undefined): Responder {
  if (seed === undefined) return responder;
  return {
    version: responder.version,
    trusts: (backend) => responder.trusts?.(backend) === true,
    answer: (query, signal) => responder.answer({ ...query, seed }, signal),
    close: () => {},
  };
}

function otherUser(user: UserSimulator, seed: number | undefined): UserSimulator {
  if (seed === undefined) return user;
  const own = (query: UserQuery) => ({ ...query, seed });
  return {
    version: user.version,
    open: (query, signal) => user.open(own(query), signal),
    reply: (query, signal) => user.reply(own(query), signal),
  };
}

function otherAgent(agent: ToolsPolicy, seed: number | undefined): ToolsPolicy {
  if (seed === undefined) return agent;
  return { version: agent.version, act: (query, signal) => agent.act({ ...query, seed }, signal) };
}

function concluded(rows: readonly NoiseRow[], repeats: number): Finding {
  const rng = (key: string) => Rng.fromSeed(0).split('noise', key);
  const noise = (source: NoiseSource) => {
    const units = rows.map((row) => row[source]);
    return noiseEstimate(units, rng(source));
  };
  const found = Object.fromEntries(SOURCES.map((source) => [source, noise(source)])) as Record<NoiseSource, Estimate>;
  const decided = rows.map(({ total }) => total.filter((value) => value !== null));
  const means = decided.map((values) => (values.length === 0 ? null : mean(values)));
  // What was not decided is in no mean.
  const plays = decided.flat().length;
  const end = (value: number | null) => (value === null ? null : leastGain([value, value], plays));
  const { value, low, high } = found.total;
  const floor: Estimate =
    value === null ? NOTHING : { ...found.total, value: end(value), low: end(low), high: end(high) };
  const undecided = rows.length - found.total.n;
  const left = `${undecided} of ${rows.length} tasks were not decided twice, and are left out.`;
  const shares = SOURCES.slice(0, -1).map((source) => `${source} ${shown(found[source].value)}`);
  const summary = `Played again, a task's reward varies by ${shown(value)} (one standard deviation): ${shares.join(', ')}. A gain below ${shown(floor.value)} over as many plays is noise.`;
  return findingOf(
    {
      id: 'noise',
      title: 'Noise',
      summary: value === null ? NOT_PLAYED : undecided === 0 ? summary : `${summary} ${left}`,
      notes: [
        `${rows.length} tasks, each played once and ${repeats} times again for each of world, judge, agent, user and all together. Shares need not add up: what one draws changes what the others are asked.`,
        ...(undecided === 0 ? [] : [`${left} They may vary most.`]),
      ],
      ...(value === null ? { missing: NOT_PLAYED } : {}),
    },
    figuresOf(METRICS, { ...found, reward: { estimate: meanEstimate(means, rng('reward')), samples: means }, floor }),
  );
}
