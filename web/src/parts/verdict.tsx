// What was found of an episode, check by check.

import type { VerdictView } from '../../../src/serve/page/wire.js';
import { formatNumber } from '../format.js';

const MARKS = {
  true: ['✓', 'good', 'passed'],
  false: ['✗', 'bad', 'failed'],
  null: ['?', 'quiet', 'not decided'],
} as const;

export function Verdict({ verdict: { reward, checks, judge } }: { verdict: VerdictView }) {
  return (
    <section class="verdict" aria-label="Verdict">
      <h3>
        Verdict <Reward value={reward} />
      </h3>
      {judge === undefined ? null : <p class="quiet">judged by {judge}</p>}
      <ul>
        {checks.map(({ name, passed, reason }, i) => {
          const [mark, tone, word] = MARKS[`${passed}`];
          return (
            <li key={i}>
              <i class={tone} role="img" aria-label={word}>
                {mark}
              </i>
              <b>{name}</b> <span>{reason}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** A reward or return; one that is final and 0 or 1 in the colour of success or failure. */
export function Reward({ value, isFinal = true }: { value: number | null; isFinal?: boolean }) {
  if (value === null)
    return (
      <span class="reward quiet" title="not judged">
        –
      </span>
    );
  const tone = !isFinal ? '' : value === 1 ? 'good' : value === 0 ? 'bad' : '';
  return <span class={`reward ${tone}`}>{formatNumber(value)}</span>;
}
