// The episode of a session: what it is, its steps, and what was found of it.

import { useEffect, useState } from 'preact/hooks';
import type { EpisodeView } from '../../../src/serve/page/wire.js';
import { linkTo } from '../route.js';
import { Conversation } from './conversation.js';
import { Numbers } from './numbers.js';
import { Scrubber } from './scrubber.js';
import { Reward, Verdict } from './verdict.js';

export interface EpisodeProps {
  readonly episode: EpisodeView;
  /** Follows the end as it grows. */
  readonly follow: boolean;
  readonly onFollow?: (follow: boolean) => void;
}

export function Episode({ episode, follow, onFollow }: EpisodeProps) {
  const { turns, family } = episode;
  const from = turns[0]?.step ?? 0;
  const to = turns.at(-1)?.step ?? 0;
  const [step, setStep] = useState(follow || family === 'vector' ? to : from);
  useEffect(() => {
    if (follow) setStep(to);
  }, [follow, to]);
  const go = (next: number) => {
    if (next !== to) onFollow?.(false);
    setStep(next);
  };
  return (
    <div class={`episode ${family}`}>
      {turns.length < 2 ? null : (
        <Scrubber
          from={from}
          to={to}
          step={Math.min(step, to)}
          onStep={go}
          stepSeconds={family === 'vector' ? 0.05 : 0.8}
        />
      )}
      {episode.notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      {family === 'vector' ? (
        <Numbers episode={episode} step={Math.min(step, to)} onStep={go} />
      ) : (
        <Conversation episode={episode} step={step} onStep={go} />
      )}
      {episode.verdict === undefined ? null : <Verdict verdict={episode.verdict} />}
    </div>
  );
}

/** The line above an episode: what it is and how it stands. */
export function EpisodeHead({ episode }: { episode: EpisodeView }) {
  const { title, source, task, seed, status, return: sum, turns, parent } = episode;
  return (
    <header class="head">
      <h1>{title}</h1>
      <p class="line">
        <span class={`tag ${source}`}>{source}</span>
        <span class={`tag status ${status}`}>{status}</span>
        {task === null ? null : (
          <span>
            task <b>{task}</b>
          </span>
        )}
        {seed === null ? null : (
          <span>
            seed <b>{seed}</b>
          </span>
        )}
        <span>
          steps <b>{turns.at(-1)?.step ?? 0}</b>
        </span>
        <span>
          return <Reward value={sum} isFinal={status !== 'running' && status !== 'idle'} />
        </span>
        {parent === undefined ? null : <a href={linkTo('session', { id: parent })}>forked from another session</a>}
      </p>
    </header>
  );
}
