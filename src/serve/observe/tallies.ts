// Metrics of what happens thousands of times a second: plain numbers where it happens, Prometheus' words when somebody
// reads them. prom-client's own look their labels up by text at every count.

import type { Metric, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** One number that only grows. */
export interface Tally {
  count: number;
}

/** Values counted by the bounds they lie within. */
export class Spread {
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
export class TallyFamily {
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
export class SpreadFamily {
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
