// What a server did, for Prometheus. Labels are names of environments, routes, codes: few, whatever clients send; never
// sessions, owners or tasks.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import type { Info } from '../../core/environment.js';
import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import type { SessionEvent, Turn } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';

const SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];

/** What language models cost in a step: those that answered calls, and the one that plays the user. */
function costOf(info: Info): Cost {
  const { predictions = [], userCost = NO_COST } = info as Partial<ToolsStepInfo>;
  return predictions.reduce((sum, { cost }) => addCosts(sum, cost), userCost);
}

export class ServerMetrics {
  readonly registry = new Registry();
  private readonly resets = this.counter('resets', 'Episodes begun', ['env']);
  private readonly steps = this.counter('steps', 'Steps taken', ['env']);
  private readonly failures = this.counter('failures', 'Resets and steps that failed', ['env', 'code']);
  private readonly closed = this.counter('sessions_closed', 'Sessions closed', ['env', 'reason']);
  private readonly episodes = this.counter('episodes', 'Episodes that ended', ['env', 'end']);
  private readonly unjudged = this.counter('episodes_unjudged', 'Episodes that ended without a reward', ['env']);
  private readonly outcomes = this.counter('episode_outcomes', 'Episodes with a task, by outcome', ['env', 'outcome']);
  private readonly modelCalls = this.counter('model_calls', 'Calls of language models', ['env']);
  private readonly modelTokens = this.counter('model_tokens', 'Tokens of language models', ['env', 'kind']);
  private readonly modelMoney = this.counter('model_money', 'Money that calls cost, in the prices given', ['env']);
  private readonly requests = this.counter('http_requests', 'HTTP requests', ['method', 'route', 'status']);
  private readonly stepSeconds = this.histogram('step_seconds', 'How long steps took', ['env']);
  private readonly requestSeconds = this.histogram('http_request_seconds', 'How long requests took', []);

  constructor(private readonly sources: { readonly sessions: Sessions; readonly version: string }) {
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
  }

  /** The text that Prometheus reads. */
  text(): Promise<string> {
    return this.registry.metrics();
  }

  /** @param labels  `route` as it was declared, without what a client put into it; `unknown` where there is none */
  onRequest({ seconds, ...labels }: { method: string; route: string; status: number; seconds: number }): void {
    this.requests.inc(labels);
    this.requestSeconds.observe(seconds);
  }

  onEvent(event: SessionEvent): void {
    const { env } = event.session;
    if (event.kind === 'reset') this.resets.inc({ env });
    else if (event.kind === 'failed') this.failures.inc({ env, code: event.code });
    else if (event.kind === 'closed') this.closed.inc({ env, reason: event.reason });
    else if (event.kind === 'step') {
      this.steps.inc({ env });
      this.stepSeconds.observe({ env }, event.seconds);
      this.onCost(env, costOf(event.turn.info));
      if (event.turn.terminated || event.turn.truncated) this.onEnd(env, event.turn);
    }
  }

  private onEnd(env: string, { terminated, return: sum, info }: Turn): void {
    const { outcome } = info as Partial<ToolsStepInfo>;
    if (outcome !== undefined) this.outcomes.inc({ env, outcome: outcome.kind });
    this.episodes.inc({ env, end: terminated ? 'terminated' : 'truncated' });
    if (sum === null) this.unjudged.inc({ env });
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

  private histogram(name: string, help: string, labelNames: readonly string[]): Histogram {
    return new Histogram({ name: `reverie_${name}`, help, buckets: SECONDS, labelNames, registers: [this.registry] });
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
