// An episode that is a conversation: a block a step, with what was said on the left and what it did on the right.

import { useEffect, useRef } from 'preact/hooks';
import type { EpisodeView, TurnView } from '../../../src/serve/page/wire.js';
import { formatNumber } from '../format.js';
import { Answers } from './answers.js';
import { Message } from './message.js';
import { type ScreenContext, screenIn } from './screen-tree.js';
import { Reward } from './verdict.js';

export interface ConversationProps {
  readonly episode: EpisodeView;
  readonly step: number;
  readonly onStep?: (step: number) => void;
}

export function Conversation({ episode, step, onStep }: ConversationProps) {
  return (
    <ol class="turns">
      {episode.turns.map((turn, i) => (
        <Turn
          key={turn.step}
          turn={turn}
          last={episode.turns[i - 1]}
          isAt={turn.step === step}
          onStep={onStep}
          isText={episode.family !== 'tools'}
        />
      ))}
    </ol>
  );
}

interface TurnProps {
  readonly turn: TurnView;
  /** The one before. */
  readonly last: TurnView | undefined;
  readonly isAt: boolean;
  readonly onStep?: (step: number) => void;
  readonly isText: boolean;
}

function Turn({ turn, last, isAt, onStep, isText }: TurnProps) {
  const row = useRef<HTMLLIElement>(null);
  const wasAt = useRef(isAt);
  useEffect(() => {
    if (isAt && !wasAt.current) row.current?.scrollIntoView({ block: 'nearest' });
    wasAt.current = isAt;
  }, [isAt]);
  const screen = { acted: actedIn(turn), before: last && screenOf(last) };
  return (
    <li ref={row} class={isAt ? 'turn at' : 'turn'} aria-current={isAt ? 'step' : undefined}>
      <div class="number">
        {onStep === undefined ? (
          turn.step
        ) : (
          <button type="button" onClick={() => onStep(turn.step)} aria-label={`Step ${turn.step}`}>
            {turn.step}
          </button>
        )}
      </div>
      <div class="spoken">
        {isText ? (
          <Lines turn={turn} screen={screen} />
        ) : (
          turn.messages.map((message, i) => <Message key={i} message={message} screen={screen} />)
        )}
      </div>
      <div class="effects">
        <Answers answers={turn.answers} />
        <Outcome turn={turn} />
      </div>
    </li>
  );
}

/** Id of the element that a turn acted on: the first argument of its action. */
function actedIn({ action, messages }: TurnView): string | undefined {
  if (typeof action === 'string') return /^\s*\w+\(\s*(?:\w+\s*=\s*)?['"]([^'"]+)['"]/.exec(action)?.[1];
  const [call] = messages.flatMap(({ toolCalls }) => toolCalls ?? []);
  const given = call?.arguments as { readonly bid?: unknown } | null | undefined;
  return given?.bid === undefined ? undefined : String(given.bid);
}

/** The last screen that a turn tells of, if any. */
function screenOf({ observation, messages }: TurnView): string | undefined {
  const texts = [...messages.map(({ content }) => content ?? ''), String(observation ?? '')];
  return texts.map((text) => screenIn(text)?.tree).findLast((tree) => tree !== undefined);
}

function Lines({ turn: { action, observation }, screen }: { turn: TurnView; screen: ScreenContext }) {
  return (
    <>
      {action === undefined ? null : <Message message={{ role: 'assistant', content: String(action) }} />}
      {observation === undefined ? null : (
        <Message message={{ role: 'tool', content: String(observation) }} screen={screen} />
      )}
    </>
  );
}

function Outcome({ turn: { step, reward, terminated, truncated, seconds } }: { turn: TurnView }) {
  if (step === 0) return null;
  return (
    <p class="outcome">
      {reward === 0 && !terminated && !truncated ? null : (
        <span>
          reward <Reward value={reward} />
        </span>
      )}
      {terminated ? <span class="tag">terminated</span> : null}
      {truncated ? <span class="tag">truncated</span> : null}
      {seconds === undefined ? null : <span class="quiet">{formatNumber(seconds * 1000, 1)} ms</span>}
    </p>
  );
}
