// Who answered, as a bar of shares with its legend in words.

import type { Shares } from '../../../src/serve/page/wire.js';
import { Backend } from './answers.js';

export function SharesOf({ shares }: { shares: Shares }) {
  const entries = Object.entries(shares).sort(([, a], [, b]) => b - a);
  if (entries.length === 0) return <span class="quiet">–</span>;
  return (
    <span class="shares">
      {entries.map(([name, count]) => (
        <Backend key={name} name={name} count={count} />
      ))}
    </span>
  );
}
