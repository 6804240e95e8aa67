// The page: choose a task, say commands, see what the dream answers and what the environment does, go back, branch.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { WorldData } from '../../src/run/world-page/carried-world.js';
import { Branches, hasParted, isOver, pathTo, type Turn } from './branches.js';
import type { OpenWorld } from './open-world.js';
import { TurnView } from './turn-view.js';

export function WorldPage({ world, data }: { world: OpenWorld; data: WorldData }) {
  const [branches] = useState(() => new Branches(world, data.seed));
  const [task, setTask] = useState(world.tasks[0].id);
  const [at, setAt] = useState<Turn>();
  const [isBeside, setBeside] = useState(true);
  const [problem, setProblem] = useState<string>();
  const isBusy = useRef(false);
  const doing = (work: () => Promise<Turn>) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setProblem(undefined);
    work()
      .then(setAt, (error: Error) => setProblem(error.message))
      .finally(() => {
        isBusy.current = false;
      });
  };
  useEffect(() => doing(() => branches.begin(task)), [branches, task]);
  return (
    <main>
      <header class="top">
        <h1>{data.name}</h1>
        <p class="note">
          Answered in this page by {data.model.backends.join(', then ')}.
          {data.absent.length > 0 ? ` Not here: ${data.absent.join('; ')}.` : ''}
        </p>
        <div class="filters">
          <label class="grow">
            task
            <select value={task} onChange={(event) => setTask(event.currentTarget.value)}>
              {world.tasks.map(({ id, goal }) => (
                <option key={id} value={id}>
                  {goal} — {id}
                </option>
              ))}
            </select>
          </label>
          <label class="follow">
            <input type="checkbox" checked={isBeside} onChange={(event) => setBeside(event.currentTarget.checked)} />
            the environment itself beside it
          </label>
        </div>
      </header>
      {problem === undefined ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {at === undefined ? null : (
        <Play
          at={at}
          branches={branches}
          isBeside={isBeside}
          onGo={setAt}
          onAct={(line) => doing(() => branches.act(at, line))}
        />
      )}
    </main>
  );
}

interface PlayProps {
  readonly at: Turn;
  readonly branches: Branches;
  readonly isBeside: boolean;
  readonly onGo: (turn: Turn) => void;
  readonly onAct: (command: string) => void;
}

function Play({ at, branches, isBeside, onGo, onAct }: PlayProps) {
  const { tips } = branches;
  const tip = tips.find((one) => pathTo(one).includes(at)) ?? at;
  const last = useRef<HTMLDivElement>(null);
  useEffect(() => last.current?.scrollIntoView({ block: 'nearest' }), [at]);
  return (
    <>
      {tips.length < 2 ? null : (
        <nav class="buttons tips" aria-label="Branches">
          {tips.map((one, i) => (
            <button key={one.id} type="button" aria-pressed={one === tip} onClick={() => onGo(one)}>
              {String.fromCharCode(65 + (i % 26))}: {one.step} steps{hasParted(one) ? ', parted' : ''}
            </button>
          ))}
        </nav>
      )}
      <ol class="turns">
        {pathTo(tip).map((turn) => (
          <TurnView key={turn.id} turn={turn} isAt={turn === at} isBeside={isBeside} onGo={() => onGo(turn)} />
        ))}
      </ol>
      <div ref={last}>
        <CommandForm at={at} onAct={onAct} onBack={() => at.parent !== undefined && onGo(at.parent)} />
      </div>
    </>
  );
}

function CommandForm({ at, onAct, onBack }: { at: Turn; onAct: (command: string) => void; onBack: () => void }) {
  const [line, setLine] = useState('');
  const offered = at.dream?.end === undefined ? (at.dream ?? at.real)?.admissible : at.real?.admissible;
  const shown = (offered ?? []).filter((command) => command.includes(line.trim()));
  const say = (command: string) => {
    if (command.trim() === '') return;
    setLine('');
    onAct(command.trim());
  };
  return (
    <form
      class="act"
      onSubmit={(event) => {
        event.preventDefault();
        say(line);
      }}
    >
      <div class="buttons">
        <input
          class="line"
          value={line}
          disabled={isOver(at)}
          placeholder={isOver(at) ? 'the episode has ended' : 'a command'}
          aria-label="command"
          onInput={(event) => setLine(event.currentTarget.value)}
        />
        <button type="submit" class="main" disabled={isOver(at)}>
          Say
        </button>
        <button type="button" disabled={at.parent === undefined} onClick={onBack}>
          Back
        </button>
      </div>
      {isOver(at) ? null : (
        <div class="choices">
          {shown.map((command) => (
            <button key={command} type="button" onClick={() => say(command)}>
              {command}
            </button>
          ))}
        </div>
      )}
    </form>
  );
}
