// One turn: what was said, what each of the two worlds answered, and where they part.

import { Answers } from '../src/parts/answers.js';
import { changeOf, type Side, type Turn } from './branches.js';

interface TurnProps {
  readonly turn: Turn;
  readonly isAt: boolean;
  readonly isBeside: boolean;
  readonly onGo: () => void;
}

export function TurnView({ turn, isAt, isBeside, onGo }: TurnProps) {
  const { step, command, dream, real, parts } = turn;
  return (
    <li class={`turn${isAt ? ' at' : ''}${parts.length > 0 ? ' parts' : ''}`} data-step={step}>
      <p class="number">
        <button type="button" onClick={onGo} title="go on from here" aria-label={`go on from step ${step}`}>
          {step}
        </button>
      </p>
      <div class="said">
        {command === undefined ? null : <p class="command">&gt; {command}</p>}
        {parts.length > 0 && isBeside ? (
          <p class="parting" role="status">
            Here the dream and the environment part: {parts.join(', ')}.
          </p>
        ) : null}
        <div class={`sides${isBeside ? ' two' : ''}`}>
          <SideView name="dream" side={dream} />
          {isBeside ? <SideView name="real" side={real} /> : null}
        </div>
      </div>
    </li>
  );
}

function SideView({ name, side }: { name: 'dream' | 'real'; side: Side | undefined }) {
  if (side === undefined) return <div class={`side ${name} quiet`}>has ended</div>;
  const { text, prediction, end } = side;
  return (
    <div class={`side ${name}${prediction?.isError ? ' failed' : ''}`}>
      <p class="text">{text}</p>
      {end === undefined ? null : <p class={`end tag ${end === 'won' ? 'running' : 'bad'}`}>{end}</p>}
      {prediction === undefined ? null : <Answers answers={[answerOf(prediction)]} />}
    </div>
  );
}

function answerOf({ operations, ...prediction }: NonNullable<Side['prediction']>) {
  return { ...prediction, tool: 'act', changes: operations.map(changeOf) } as Parameters<
    typeof Answers
  >[0]['answers'][number];
}
