// Retrieval of like steps among templated logs of tools, as a world model asks for them: top 20 for a call and the calls
// before it. Ours against a general search package over the same words, same queries, taking turns.

import type { JsonObject } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import type { ExperienceStep } from '../src/replay/experience/experience.js';
import { ExperienceStore } from '../src/replay/experience/store.js';
import { callText, MAX_HISTORY } from '../src/replay/experience/terms.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, median, ratioInterval } from './measure.js';
import { npmPeer } from './npm-peer.js';

const VERSION = '7.2.0';
const TOP = 20;
const QUERIES = 200;
/** The package takes seconds a query. */
const PEER_QUERIES = 2;
const ROUNDS = 5;

interface MiniSearch {
  addAll(documents: readonly object[]): void;
  search(query: string): { id: number }[];
}
type MiniSearchModule = new (options: object) => MiniSearch;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const count = quick ? 3_000 : 100_000;
  const steps = templatedSteps(count, 1);
  const queries = templatedSteps(QUERIES, 2);
  const ours = await ourSearch(steps, log);
  const peer = await peerSearch(steps, root, log);
  const times: number[] = [];
  const turn = (search: (step: ExperienceStep) => void, asked: readonly ExperienceStep[], kept?: number[]) => () => {
    const each = asked.map((query) => milliseconds(() => search(query)));
    kept?.push(...each);
    return 1000 / median(each);
  };
  const rates = await measurePaired({
    rounds: quick ? 2 : ROUNDS,
    ours: turn(ours.search, queries, times),
    baseline: turn(peer.search, queries.slice(0, PEER_QUERIES)),
    log,
  });
  times.sort((a, b) => a - b);
  const raw = {
    oursQueriesPerSecond: rates.ours,
    minisearchQueriesPerSecond: rates.baseline,
    oursBuildSeconds: ours.buildSeconds,
    minisearchBuildSeconds: peer.buildSeconds,
    oursP50Milliseconds: median(times),
    oursP95Milliseconds: times[Math.floor(0.95 * times.length)],
    steps: count,
    top: TOP,
  };
  return { ...ratioInterval(rates), n: rates.ours.length, raw, versions: { minisearch: VERSION } };
}

async function ourSearch(steps: readonly ExperienceStep[], log: (line: string) => void) {
  const store = await ExperienceStore.open();
  const start = performance.now();
  for (let at = 0; at < steps.length; at += 1000) await store.add(steps.slice(at, at + 1000));
  const buildSeconds = (performance.now() - start) / 1000;
  log(`ours: ${steps.length} steps in ${buildSeconds.toFixed(1)} s`);
  const search = ({ call, history }: ExperienceStep) => store.retrieve({ call, history, sources: 'both' }, TOP);
  return { buildSeconds, search };
}

async function peerSearch(steps: readonly ExperienceStep[], root: string, log: (line: string) => void) {
  const MiniSearch = await npmPeer<MiniSearchModule>({ name: 'minisearch', version: VERSION, root, log });
  const index = new MiniSearch({ fields: ['call', 'history'], searchOptions: { boost: { call: 3 } } });
  const documents = steps.map(({ call, history }, id) => ({ id, call: callText(call), history: history.join(' ') }));
  const buildSeconds = milliseconds(() => index.addAll(documents)) / 1000;
  log(`minisearch: ${steps.length} steps in ${buildSeconds.toFixed(1)} s`);
  const search = ({ call, history }: ExperienceStep) =>
    index.search([callText(call), ...history].join(' ')).slice(0, TOP);
  return { buildSeconds, search };
}

function milliseconds(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

const TOOLS = ['get_ticket', 'close_ticket', 'add_comment', 'find_users', 'assign_ticket', 'refund_order', 'list_tags'];
const WORDS = ['printer', 'password', 'refund', 'network', 'slow', 'broken', 'invoice', 'login', 'urgent', 'screen'];
const ENTITIES = 500;
const EPISODE = 10;

function templatedSteps(count: number, seed: number): ExperienceStep[] {
  const rng = Rng.fromSeed(seed).split('steps');
  let history: string[] = [];
  return Array.from({ length: count }, (_, n): ExperienceStep => {
    if (n % EPISODE === 0) history = [];
    const call = templatedCall(rng);
    const before = history;
    history = [...history, callText(call)].slice(-MAX_HISTORY);
    const who = {
      source: 'real',
      backend: 'real',
      modelVersion: '',
      scenario: 'benchmark',
      task: '',
      row: -1,
    } as const;
    const found = { observation: String(n), isError: false, reward: null, terminated: false, confidence: 1 };
    const episode = String(Math.floor(n / EPISODE));
    return { ...who, ...found, episode, step: n % EPISODE, call, history: before, verified: true };
  });
}

function templatedCall(rng: Rng): ExperienceStep['call'] {
  const word = () => WORDS[rng.int(WORDS.length)];
  const note: JsonObject = rng.uniform() < 0.5 ? { note: `the ${word()} is ${word()} and ${word()}` } : {};
  const ids = { ticket_id: `T${rng.int(ENTITIES)}`, user_id: `user_${rng.int(ENTITIES / 2)}` };
  return { name: TOOLS[rng.int(TOOLS.length)], arguments: { ...ids, ...note } };
}
