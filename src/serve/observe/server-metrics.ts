// What a server did, for Prometheus. Labels are names of environments, routes, codes: few, whatever clients send; never
// sessions, owners or tasks.

import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import type { ToolsStepInfo } from '../../env/index.js';
import type { SessionEvent, Sessions, Turn } from '../core/session-contract.js';
import type { RequestFacts } from './request-log.js';

const SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];
const RETURNS = [-10_000, -1000, -100, -10, -1, 0, 0.25, 0.5, 0.75, 1, 10, 100, 1000, 10_000];
const LENGTHS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000];

export interface MetricsSources {
  readonly sessions: Pick<Sessions, 'environments' | 'list' | 'counts'>;
  readonly version: string;
  /** Numbers of other parts, read when somebody looks: `name` to value; names end in what is counted. */
  readonly gauges?: () => Readonly<Record<string, number>>;
}

export class ServerMetrics {
  readonly registry = new Registry();
  private readonly resets = this.counter('resets', 'Episodes begun', ['env']);
  private readonly steps = new TallyFamily(this.registry, 'reverie_steps_total', 'Steps taken');
  private readonly failures = this.counter('failures', 'Resets and steps that failed', ['env', 'code']);
  private readonly closed = this.counter('sessions_closed', 'Sessions closed', ['env', 'reason']);
  private readonly episodes = this.counter('episodes', 'Episodes that ended', ['env', 'end']);
  private readonly unjudged = this.counter('episodes_unjudged', 'Episodes that ended and nobody could judge', ['env']);
  private readonly modelCalls = this.counter('model_calls', 'Calls of language models', ['env']);
  private readonly modelTokens = this.counter('model_tokens', 'Tokens of language models', ['env', 'kind']);
  private readonly modelMoney = this.counter('model_money', 'Money that calls cost, in the prices given', ['env']);
  private readonly requests = new TallyFamily(this.registry, 'reverie_http_requests_total', 'HTTP requests');
  private readonly bytes = this.counter('network_bytes', 'Bytes read and written', []);
  private readonly stepSeconds = this.spreads('step_seconds', 'How long steps took');
  private readonly requestSeconds = this.spreads('http_request_seconds', 'How long requests took').add({});
  private readonly returns = this.histogram('episode_return', 'Returns of episodes that ended', RETURNS, ['env']);
  private readonly lengths = this.histogram('episode_steps', 'Steps of episodes that ended', LENGTHS, ['env']);

  /** What is counted with every step and every request, by environment and by route, method and status. */
  private readonly stepsOf = new Map<string, { readonly steps: Tally; readonly seconds: Spread }>();
  private readonly requestsOf = new Map<string, Map<string, Map<number, Tally>>>();
  private readonly toRead: (() => void)[] = [];

  constructor(private readonly sources: MetricsSources) {
    collectDefaultMetrics({ register: this.registry });
    this.gauge('build_info', 'Version of the server', ['version', 'node'], (gauge) => {
      gauge.set({ version: sources.version, node: process.versions.node }, 1);
    });
    this.gauge('sessions', 'Sessions open, by what they are doing', ['env', 'status'], (gauge) =>
      this.showSessions(gauge),
    );
    const { sessions } = sources;
    this.gauge('slots', 'Episodes that may be under way at once', [], (gauge) => gauge.set(sessions.counts.slots));
    this.gauge('slots_taken', 'Episodes that hold a slot', [], (gauge) => gauge.set(sessions.counts.active));
    this.gauge('slots_awaited', 'Resets that wait for a slot', [], (gauge) => gauge.set(sessions.counts.waiting));
    this.gauge('part', 'Numbers of parts of the server', ['name'], (gauge) => {
      for (const [name, value] of Object.entries(sources.gauges?.() ?? {})) gauge.set({ name }, value);
    });
  }

  /** The text that Prometheus reads. */
  text(): Promise<string> {
    for (const prepare of this.toRead) prepare();
    return this.registry.metrics();
  }

  /** `prepare` is called before somebody reads the metrics. */
  beforeReading(prepare: () => void): void {
    this.toRead.push(prepare);
  }

  onRequest({ method, route, status, seconds }: RequestFacts): void {
    const tally = this.requestsOf.get(route)?.get(method)?.get(status) ?? this.newRequest(route, method, status);
    tally.count++;
    this.requestSeconds.observe(seconds);
  }

  onBytes(bytes: number): void {
    this.bytes.inc(bytes);
  }

  onEvent(event: SessionEvent): void {
    const { env } = event.session;
    if (event.kind === 'reset') this.resets.inc({ env });
    else if (event.kind === 'failed') this.failures.inc({ env, code: event.code });
    else if (event.kind === 'closed') this.closed.inc({ env, reason: event.reason });
    else if (event.kind === 'step') {
      const { steps, seconds } = this.stepsOf.get(env) ?? this.newEnvironment(env);
      steps.count++;
      seconds.observe(event.seconds);
      this.onCost(env, costOf(event.turn));
      if (event.turn.terminated || event.turn.truncated) this.onEnd(env, event.turn);
    }
  }

  private newEnvironment(env: string) {
    const counts = { steps: this.steps.add({ env }), seconds: this.stepSeconds.add({ env }) };
    this.stepsOf.set(env, counts);
    return counts;
  }

  private newRequest(route: string, method: string, status: number): Tally {
    const tally = this.requests.add({ method, route, status: String(status) });
    const methods = this.requestsOf.get(route) ?? new Map<string, Map<number, Tally>>();
    const statuses = methods.get(method) ?? new Map<number, Tally>();
    this.requestsOf.set(route, methods.set(method, statuses.set(status, tally)));
    return tally;
  }

  private onEnd(env: string, { terminated, return: sum, stepCount }: Turn): void {
    this.episodes.inc({ env, end: terminated ? 'terminated' : 'truncated' });
    this.lengths.observe({ env }, stepCount);
    if (sum === null) this.unjudged.inc({ env });
    else this.returns.observe({ env }, sum);
  }

  private onCost(env: string, { calls, promptTokens, cachedTokens, completionTokens, money }: Cost): void {
    if (calls === 0) return;
    this.modelCalls.inc({ env }, calls);
    this.modelTokens.inc({ env, kind: 'prompt' }, promptTokens);
    this.modelTokens.inc({ env, kind: 'cached' }, cachedTokens);
    this.modelTokens.inc({ env, kind: 'completion' }, completionTokens);
    this.modelMoney.inc({ env }, money);
  }

  private showSessions(gauge: Gauge): void {
    const { environments, list } = this.sources.sessions;
    gauge.reset();
    for (const env of environments.keys()) {
      for (const status of ['idle', 'running', 'done']) gauge.set({ env, status }, 0);
    }
    for (const { env, status } of list.call(this.sources.sessions)) gauge.inc({ env, status });
  }

  private counter(name: string, help: string, labelNames: readonly string[]): Counter {
    return new Counter({ name: `reverie_${name}_total`, help, labelNames, registers: [this.registry] });
  }

  private histogram(name: string, help: string, buckets: number[], labelNames: readonly string[]): Histogram {
    return new Histogram({ name: `reverie_${name}`, help, buckets, labelNames, registers: [this.registry] });
  }

  private spreads(name: string, help: string): SpreadFamily {
    return new SpreadFamily(this.registry, `reverie_${name}`, help, SECONDS);
  }

  private gauge(name: string, help: string, labelNames: readonly string[], collect: (gauge: Gauge) => void): void {
    new Gauge({
      name: `reverie_${name}`,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        collect(this);
      },
    });
  }
}

/** What language models cost in a step: those that answered calls, and the one that plays the user. */
export function costOf({ info }: Pick<Turn, 'info'>): Cost {
  const { predictions, userCost = NO_COST } = info as Partial<ToolsStepInfo>;
  if (predictions === undefined) return userCost;
  return predictions.reduce((sum, { cost }) => addCosts(sum, cost), userCost);
}

// Metrics of what happens thousands of times a second: plain numbers where it happens, Prometheus' words when somebody
// reads them. prom-client's own look their labels up by text at every count.

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** One number that only grows. */
interface Tally {
  count: number;
}

/** Values counted by the bounds they lie within. */
class Spread {
  count = 0;
  private sum = 0;
  /** Values above the bound before and not above this one; the last: above all. */
  private readonly within: number[];

  constructor(private readonly bounds: readonly number[]) {
    this.within = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > this.bounds[at]) at++;
    this.within[at]++;
    this.sum += value;
    this.count++;
  }

  samples(name: string, labels: Labels): readonly Sample[] {
    let below = 0;
    const buckets = this.bounds.map((bound, i) => {
      below += this.within[i];
      return { metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: this.count },
      { metricName: `${name}_sum`, labels, value: this.sum },
      { metricName: `${name}_count`, labels, value: this.count },
    ];
  }
}

/** Kept for each set of labels; `of` is to be remembered by whoever counts often. */
class TallyFamily {
  private readonly known: { readonly labels: Labels; readonly tally: Tally }[] = [];

  constructor(registry: Registry, name: string, help: string) {
    const samples = () => this.known.map(({ labels, tally }) => ({ labels, value: tally.count }));
    register(registry, { name, help, type: 'counter', samples });
  }

  add(labels: Labels): Tally {
    const tally = { count: 0 };
    this.known.push({ labels, tally });
    return tally;
  }
}

/** The same of spreads, with one set of bounds. */
class SpreadFamily {
  private readonly known: { readonly labels: Labels; readonly spread: Spread }[] = [];

  constructor(
    registry: Registry,
    name: string,
    help: string,
    private readonly bounds: readonly number[],
  ) {
    const samples = () => this.known.flatMap(({ labels, spread }) => spread.samples(name, labels));
    register(registry, { name, help, type: 'histogram', samples });
  }

  add(labels: Labels): Spread {
    const spread = new Spread(this.bounds);
    this.known.push({ labels, spread });
    return spread;
  }
}

interface Read {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  readonly samples: () => readonly Sample[];
}

/** A registry asks its metrics for no more than this. */
function register(registry: Registry, { name, help, type, samples }: Read): void {
  const get = async () => ({ name, help, type, aggregator: 'sum', values: samples() });
  registry.registerMetric({ name, help, type, get } as unknown as Metric);
}
