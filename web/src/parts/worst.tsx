// A transition that was got most wrong: what differs, then all of both.

import type { WorstTransition } from '../../../src/fidelity/report/fidelity-report.js';
import type { WireJson } from '../../../src/serve/page/wire.js';
import { formatNumber } from '../format.js';
import { jsonText } from './json-text.js';

export function Worst({ worst }: { worst: WorstTransition }) {
  const { title, backend, confidence, badness, differences, action, context, real, dreamt } = worst;
  return (
    <details>
      <summary>
        <b>{title}</b>{' '}
        <small>
          {backend === undefined ? '' : `answered by ${backend} · `}
          {confidence === undefined ? '' : `confidence ${formatNumber(confidence)} · `}badness {formatNumber(badness)}
        </small>
      </summary>
      <ul class="diff" aria-label="What differs">
        {differences.map((difference, i) => (
          <li key={i}>
            <span class="path">{difference.path}</span>
            <Side of="real" value={difference.real} />
            <Side of="dreamt" value={difference.dreamt} />
          </li>
        ))}
      </ul>
      {Object.entries({
        'What was done': action,
        Where: context,
        'Real, in full': real,
        'Dreamt, in full': dreamt,
      }).map(([name, value]) => (
        <div key={name}>
          <h3>{name}</h3>
          <pre>{jsonText(value)}</pre>
        </div>
      ))}
    </details>
  );
}

function Side({ of, value }: { of: 'real' | 'dreamt'; value: WireJson | undefined }) {
  return (
    <span class={of}>
      <i>{of}</i>
      <span>{value === undefined ? 'nothing there' : jsonText(value)}</span>
    </span>
  );
}
