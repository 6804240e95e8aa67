// An episode of numbers: every dimension of what was seen, done and paid.

import { useMemo } from 'preact/hooks';
import type { EpisodeView, TurnView } from '../../../src/serve/page/wire.js';
import { formatNumber } from '../format.js';
import { Legend, type Line, LineChart } from './line-chart.js';

export interface NumbersProps {
  readonly episode: EpisodeView;
  readonly step: number;
  readonly onStep: (step: number) => void;
}

export function Numbers({ episode, step, onStep }: NumbersProps) {
  const { turns } = episode;
  const series = useMemo(() => seriesOf(turns), [turns]);
  const onCursor = (x: number) => onStep(Math.round(x));
  return (
    <div class="numbers">
      <div class="curves">
        <Group title="Reward and return" lines={series.rewards} cursor={step} onCursor={onCursor} />
        <Group title="Action" lines={series.actions} cursor={step} onCursor={onCursor} />
      </div>
      <section class="dimensions" aria-label="Observation">
        <h3>Observation</h3>
        <div class="grid">
          {series.observations.map((line) => (
            <div class="dimension" key={line.name}>
              <span>
                {line.name}{' '}
                <b>{formatNumber(turns[step - (turns[0]?.step ?? 0)]?.observation?.[indexOf(line)] as number)}</b>
              </span>
              <LineChart label={line.name} lines={[line]} height={54} small cursor={step} onCursor={onCursor} />
            </div>
          ))}
        </div>
      </section>
      <Info turn={turns.find((turn) => turn.step === step)} />
    </div>
  );
}

interface GroupProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly cursor: number;
  readonly onCursor: (x: number) => void;
}

function Group({ title, lines, cursor, onCursor }: GroupProps) {
  // Before the first step there is nothing to draw.
  if (lines.every(({ points }) => points.length === 0)) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <LineChart label={title} lines={lines} height={132} cursor={cursor} onCursor={onCursor} />
      <Legend lines={lines} cursor={cursor} />
    </section>
  );
}

function Info({ turn }: { turn: TurnView | undefined }) {
  const entries = Object.entries(turn?.info ?? {}).filter(([, value]) => typeof value === 'number');
  if (entries.length === 0) return null;
  return (
    <dl class="facts inline" aria-label="What else is known of the step">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{formatNumber(value as number)}</dd>
        </div>
      ))}
    </dl>
  );
}

function indexOf({ name }: Line): number {
  return Number(/\d+/.exec(name)?.[0] ?? 0);
}

function seriesOf(turns: readonly TurnView[]) {
  const rows = (of: 'observation' | 'action', name: string): Line[] => {
    const width = turns.reduce(
      (most, turn) => Math.max(most, (turn[of] as readonly number[] | undefined)?.length ?? 0),
      0,
    );
    return Array.from({ length: width }, (_, i) => ({
      // One element needs no number.
      name: width === 1 ? name : `${name} ${i}`,
      colour: of === 'action' ? i + 2 : 0,
      points: turns.flatMap((turn): [number, number][] => {
        const row = turn[of] as readonly number[] | undefined;
        return row === undefined ? [] : [[turn.step, row[i]]];
      }),
    }));
  };
  let sum = 0;
  const paid = turns.filter(({ reward }) => reward !== null);
  const returns = paid.map(({ step, reward }): [number, number] => {
    sum += reward ?? 0;
    return [step, sum];
  });
  return {
    observations: rows('observation', 'obs'),
    actions: rows('action', 'action'),
    rewards: [
      { name: 'reward', colour: 1, points: paid.map(({ step, reward }): [number, number] => [step, reward ?? 0]) },
      { name: 'return', colour: 0, points: returns },
    ],
  };
}
