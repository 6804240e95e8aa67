// A served environment of tools under judgement: one can only live in it, from its own reset on. Its state stays there; of it
// the server tells a hash after each step.

import { canonicalJson } from '../../../../../canonical-json.js';
import { type RemoteToolsEnvironment, remoteEnvironment, type ToolsDomain } from '../../../../../env/index.js';
import { type ReverieError, reverieError } from '../../../../../errors.js';
import type { CarrySequence } from '../../../../../fidelity/index.js';
import { judgedEnvironment } from '../../remote.js';
import { type Act, liveServed, type ServedEpisode, type ServedPlay } from './life.js';
import { ServedSessions } from './sessions.js';

export interface ServedTools {
  readonly name: string;
  readonly version: string;
  /** What a reader must know of it. */
  readonly note: string;
  /** undefined: a step got no answer, by a fault of whoever answers there. */
  live(play: ServedPlay, signal?: AbortSignal): Promise<ServedEpisode | undefined>;
  /** Each sequence is carried out once. */
  readonly carry: CarrySequence;
  close(): Promise<void>;
}

/**
 * The environment called as the scenario is, else the server's default one.
 * @throws FIDELITY_SUBJECT_UNFIT where it is of another domain, and as `remoteEnvironment`
 */
export async function openServedTools(
  url: string,
  scenario: string,
  domain: ToolsDomain,
  seed: number,
): Promise<ServedTools> {
  const first = await judgedEnvironment(url, scenario);
  try {
    if (first.family !== 'tools') throw unfit(url, `it is of family ${first.family}, and not of tools`);
    const known = await knownTasks(first);
    requireDomain(url, first as RemoteToolsEnvironment, domain, known);
    return new Served(url, first as RemoteToolsEnvironment, known, seed);
  } catch (error) {
    await first.close();
    throw error;
  }
}

function unfit(given: string, problem: string): ReverieError {
  return reverieError('FIDELITY_SUBJECT_UNFIT', { given, problem });
}

async function knownTasks(remote: Awaited<ReturnType<typeof judgedEnvironment>>): Promise<ReadonlySet<string>> {
  const splits = await Promise.all(remote.card.splits.map(({ name }) => remote.tasks(name)));
  return new Set(splits.flat().map(({ id }) => id));
}

/** The same tools, and all tasks. @throws FIDELITY_SUBJECT_UNFIT */
function requireDomain(
  url: string,
  { card }: RemoteToolsEnvironment,
  { id, tools, tasks }: ToolsDomain,
  known: ReadonlySet<string>,
): void {
  const theirs = new Map(card.tools.map(({ name, parameters }) => [name, canonicalJson(parameters as never)]));
  const missing = tools.filter(({ name }) => !theirs.has(name)).map(({ name }) => name);
  const other = tools.filter(({ name, parameters }) => theirs.get(name) !== canonicalJson(parameters as never));
  if (missing.length > 0) throw unfit(url, `"${card.name}" has not the tools of ${id}: ${shown(missing)}`);
  if (other.length > 0)
    throw unfit(url, `tools of "${card.name}" take other arguments: ${shown(other.map(({ name }) => name))}`);
  if (theirs.size > tools.length) throw unfit(url, `"${card.name}" has other tools beside those of ${id}`);
  const unknown = tasks.filter((task) => !known.has(task.id)).map((task) => task.id);
  if (unknown.length > 0) throw unfit(url, `"${card.name}" does not know the tasks ${shown(unknown)}`);
}

const SHOWN = 3;

function shown(names: readonly string[]): string {
  return `${names.slice(0, SHOWN).join(', ')}${names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''}`;
}

class Served implements ServedTools {
  readonly version: string;
  readonly note: string;
  private readonly sessions: ServedSessions;
  private readonly carried = new Map<string, ReturnType<CarrySequence>>();

  constructor(
    readonly name: string,
    first: RemoteToolsEnvironment,
    private readonly known: ReadonlySet<string>,
    private readonly seed: number,
  ) {
    const { card } = first;
    this.version = card.version;
    this.note = `"${card.name}" is served as ${card.source === 'real' ? 'a real environment' : 'a dream'}; its own user answers what is said.`;
    const more = async () => (await remoteEnvironment(name, { environment: card.name })) as RemoteToolsEnvironment;
    this.sessions = new ServedSessions(first, more);
  }

  live(play: ServedPlay, signal?: AbortSignal): Promise<ServedEpisode | undefined> {
    return this.sessions.use((remote) => liveServed(remote, play, signal));
  }

  readonly carry: CarrySequence = (sequence, signal) => {
    const made = this.carried.get(sequence.id) ?? this.carryOnce(sequence, signal);
    this.carried.set(sequence.id, made);
    made.catch(() => this.carried.delete(sequence.id));
    return made;
  };

  close(): Promise<void> {
    return this.sessions.close();
  }

  private async carryOnce(...[{ task, messages }, signal]: Parameters<CarrySequence>): ReturnType<CarrySequence> {
    if (!this.known.has(task.id)) return { steps: [], isWhole: false };
    const actions = messages.flatMap((message) => {
      if (message.role !== 'assistant') return [];
      const { role: _, ...action } = message;
      return [action];
    });
    const act: Act = async (_, step) => actions[step];
    const episode = await this.live({ task: task.id, seed: this.seed, act, maxSteps: actions.length }, signal);
    return episode === undefined ? { steps: [], isWhole: false } : { steps: episode.answers, isWhole: episode.isWhole };
  }
}
