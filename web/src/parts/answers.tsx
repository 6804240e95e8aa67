// Who answered a step, why and how surely, and what changed in the state that the agent does not see.

import type { AnswerView, ChangeView, WireJson } from '../../../src/serve/page/wire.js';
import { Facts } from './facts.js';
import { jsonText } from './json-text.js';

export function Answers({ answers }: { answers: readonly AnswerView[] }) {
  return (
    <>
      {answers.map((answer, i) => (
        <Answer key={i} answer={answer} />
      ))}
    </>
  );
}

function Answer({ answer }: { answer: AnswerView }) {
  const { tool, backend, confidence, refused, repaired, changes } = answer;
  return (
    <div class="answer">
      <p class="by">
        <Backend name={backend} />
        <span>
          answered <code>{tool}</code>
        </span>
        <span class="sure" title="confidence">
          <meter min={0} max={1} value={confidence} aria-label={`confidence ${confidence.toFixed(2)}`} />
          {confidence.toFixed(2)}
        </span>
        {repaired ? <span class="tag">repaired</span> : null}
        {refused === undefined ? null : <span class="tag bad">refused</span>}
      </p>
      <Changes changes={changes} />
      <details>
        <summary>why, and by which version</summary>
        <Facts facts={factsOf(answer)} />
      </details>
    </div>
  );
}

function factsOf({ modelVersion, why, refused, reasoning }: AnswerView) {
  const told: [string, string][] = [['version', modelVersion]];
  if (why.length > 0) told.push(['why', why.join('\n')]);
  if (refused !== undefined) told.push(['refused', refused.join('\n')]);
  if (reasoning !== undefined) told.push(['its thoughts', reasoning]);
  return told;
}

export function Backend({ name, count }: { name: string; count?: number }) {
  return (
    <span class={`backend ${name}`}>
      {name}
      {count === undefined ? null : <b>{count}</b>}
    </span>
  );
}

export function Changes({ changes }: { changes: readonly ChangeView[] }) {
  if (changes.length === 0) return <p class="quiet">the state stays as it was</p>;
  return (
    <ul class="diff" aria-label="Changes of the state">
      {changes.map(({ op, path, after }, i) => (
        <li key={i}>
          <span class="path">{path}</span>
          {after === undefined ? <span class="quiet">{op}</span> : <Value value={after} />}
        </li>
      ))}
    </ul>
  );
}

function Value({ value }: { value: WireJson }) {
  return (
    <span class="after">
      <i role="img" aria-label="after">
        +
      </i>
      <span>{typeof value === 'string' ? value : jsonText(value)}</span>
    </span>
  );
}
