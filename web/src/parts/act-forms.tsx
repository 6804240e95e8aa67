// Ways to act by hand, one for each family: call a tool or say something, write a line (of a game, or on a screen), set numbers.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { PlayableView, RowSpace, TurnView, WireJson } from '../../../src/serve/page/wire.js';
import { formatNumber } from '../format.js';
import { SchemaForm } from './schema-form.js';

export interface ActFormProps {
  readonly env: PlayableView;
  readonly turn: TurnView | undefined;
  readonly disabled: boolean;
  readonly onAct: (action: unknown, times?: number) => Promise<void>;
}

export function ActForm(props: ActFormProps) {
  if (props.env.family === 'tools') return <ToolForm {...props} />;
  return props.env.family === 'vector' ? <RowForm {...props} /> : <LineForm {...props} />;
}

const SAY = '';

function ToolForm({ env, disabled, onAct }: ActFormProps) {
  const [name, setName] = useState(SAY);
  const tool = env.tools.find((one) => one.name === name);
  return (
    <div class="act">
      <label>
        what to do
        <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
          <option value={SAY}>say to the user</option>
          <optgroup label="call a tool">
            {env.tools.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </optgroup>
        </select>
      </label>
      {tool === undefined ? (
        <SayForm disabled={disabled} onSay={(content) => onAct({ content })} />
      ) : (
        <>
          <p class="quiet">{tool.description}</p>
          <SchemaForm
            key={tool.name}
            schema={tool.parameters}
            submit={`Call ${tool.name}`}
            disabled={disabled}
            onSubmit={(value: Record<string, WireJson>) =>
              void onAct({ tool_calls: [{ name: tool.name, arguments: value }] })
            }
          />
        </>
      )}
    </div>
  );
}

function SayForm({ disabled, onSay }: { disabled: boolean; onSay: (text: string) => void }) {
  const [text, setText] = useState('');
  const send = (event: Event) => {
    event.preventDefault();
    if (text.trim() === '' || disabled) return;
    onSay(text);
    setText('');
  };
  return (
    <form class="fields" onSubmit={send}>
      <label>
        message
        <textarea
          rows={2}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && !event.shiftKey && send(event)}
        />
      </label>
      <button type="submit" class="main" disabled={disabled}>
        Say it
      </button>
    </form>
  );
}

function LineForm({ turn, disabled, onAct }: ActFormProps) {
  const [text, setText] = useState('');
  const admissible = (turn?.info['admissible'] ?? []) as readonly string[];
  const send = (line: string) => {
    if (line.trim() === '' || disabled) return;
    void onAct(line);
    setText('');
  };
  const submit = (event: Event) => {
    event.preventDefault();
    send(text);
  };
  return (
    <form class="act fields" onSubmit={submit}>
      <label>
        action
        <input value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {admissible.length === 0 ? null : (
        <div class="choices">
          {admissible.map((line) => (
            <button type="button" key={line} disabled={disabled} onClick={() => send(line)}>
              {line}
            </button>
          ))}
        </div>
      )}
      <button type="submit" class="main" disabled={disabled}>
        Act
      </button>
    </form>
  );
}

/** Steps a second while it runs. */
const PACE = 20;

function RowForm({ env, disabled, onAct }: ActFormProps) {
  const space = env.actions!;
  const [row, setRow] = useState(() => space.low.map((_, i) => middleOf(space, i)));
  const [times, setTimes] = useState(1);
  const [isRunning, setRunning] = useState(false);
  useRunning(isRunning && !disabled, () => onAct(row));
  useEffect(() => {
    if (disabled) setRunning(false);
  }, [disabled]);
  return (
    <form
      class="act fields"
      onSubmit={(event) => {
        event.preventDefault();
        void onAct(row, times);
      }}
    >
      {row.map((value, i) => (
        <label key={i} class="slider">
          <span>
            action {i} <output>{formatNumber(value)}</output>
          </span>
          <input
            type="range"
            min={space.low[i] ?? -1}
            max={space.high[i] ?? 1}
            step={space.discrete === undefined ? 'any' : 1}
            value={value}
            aria-label={`action ${i}`}
            onInput={(event) => setRow(row.map((one, at) => (at === i ? Number(event.currentTarget.value) : one)))}
          />
        </label>
      ))}
      <div class="buttons">
        <button type="submit" class="main" disabled={disabled || isRunning}>
          Step
        </button>
        <label>
          for{' '}
          <select value={times} onChange={(event) => setTimes(Number(event.currentTarget.value))}>
            {[1, 5, 20, 100].map((one) => (
              <option key={one} value={one}>
                {one} {one === 1 ? 'step' : 'steps'}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-pressed={isRunning} disabled={disabled} onClick={() => setRunning(!isRunning)}>
          {isRunning ? 'Stop' : 'Hold'}
        </button>
      </div>
    </form>
  );
}

/** Acts again and again, the next time once the last is done. */
function useRunning(isOn: boolean, actOnce: () => Promise<void>): void {
  const latest = useRef(actOnce);
  latest.current = actOnce;
  useEffect(() => {
    if (!isOn) return;
    let isOver = false;
    const loop = async () => {
      while (!isOver) {
        const pause = new Promise((resolve) => setTimeout(resolve, 1000 / PACE));
        await latest.current();
        await pause;
      }
    };
    void loop();
    return () => {
      isOver = true;
    };
  }, [isOn]);
}

function middleOf({ discrete, low, high }: RowSpace, i: number): number {
  if (discrete !== undefined) return discrete.start;
  return ((low[i] ?? -1) + (high[i] ?? 1)) / 2;
}
