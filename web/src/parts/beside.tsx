// The same, done in another environment: its episode, and where the two part.

import type { EpisodeView, TurnView } from '../../../src/serve/page/wire.js';
import { type ApiError, useAsked } from '../api.js';
import { Episode } from './episode.js';
import { Problem } from './problem.js';

interface BesideProps {
  readonly own: EpisodeView;
  readonly other: EpisodeView | undefined;
  readonly error: ApiError | undefined;
  readonly follow: boolean;
  readonly onFollow: (follow: boolean) => void;
}

/** An episode that is looked at beside another one; nothing is asked while there is none. */
export function useBeside(id: string | undefined) {
  return useAsked<EpisodeView>(id === undefined ? null : `/web/api/sessions/${encodeURIComponent(id)}`);
}

export function Beside({ own, other, error, follow, onFollow }: BesideProps) {
  if (other === undefined) return <Problem error={error} />;
  const parting = partingOf(own, other);
  return (
    <>
      <p class={parting === undefined ? 'note' : 'parting'} role="status">
        {parting === undefined
          ? 'Both were alike so far.'
          : `They part at step ${parting.step}: ${parting.differs.join(', ')}.`}
      </p>
      <div class="pair">
        {[own, other].map((episode) => (
          <section key={episode.session} aria-label={`${episode.env} (${episode.source})`}>
            <h3>
              {episode.env} <span class={`tag ${episode.source}`}>{episode.source}</span>
            </h3>
            <Episode episode={episode} follow={follow} onFollow={onFollow} />
          </section>
        ))}
      </div>
    </>
  );
}

/** The first step that came out otherwise, and what differs. Where one has ended there is nothing to compare. */
export function partingOf(own: EpisodeView, other: EpisodeView) {
  const others = new Map(other.turns.map((turn) => [turn.step, turn]));
  for (const turn of own.turns) {
    const differs = differences(turn, others.get(turn.step));
    if (differs.length > 0) return { step: turn.step, differs };
  }
  return undefined;
}

function differences(own: TurnView, other: TurnView | undefined): string[] {
  if (other === undefined) return [];
  const said = ({ observation, messages }: TurnView) =>
    JSON.stringify([observation, messages.map(({ role, content, isError }) => [role, content, isError])]);
  return [
    ...(said(own) === said(other) ? [] : ['what was said']),
    ...(own.stateHash === other.stateHash ? [] : ['state']),
    ...(own.terminated === other.terminated ? [] : ['end']),
  ];
}
