// One turn: what was said, what each of the two worlds answered, and where they part.

import type { Prediction } from '../../src/env/tools/prediction.js';
import { Answers, Changes } from '../src/parts/answers.js';
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
      {prediction === undefined ? null : name === 'dream' ? (
        <Answers answers={[answerOf(prediction)]} />
      ) : (
        <div class="answer">
          <Changes changes={changesOf(prediction)} />
        </div>
      )}
    </div>
  );
}

type View = Parameters<typeof Answers>[0]['answers'][number];

function answerOf(prediction: Prediction): View {
  const { operations: _, ...told } = prediction;
  return { ...told, tool: 'act', changes: changesOf(prediction) } as View;
}

function changesOf({ operations }: Prediction): View['changes'] {
  return operations.map(changeOf) as View['changes'];
}
