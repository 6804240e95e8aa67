// Goes through the steps of an episode: a slider, a play button, and the arrow keys wherever nothing else uses them.

import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../keys.js';

export interface ScrubberProps {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly onStep: (step: number) => void;
  /** Seconds of a step while it plays. */
  readonly stepSeconds: number;
  /** What is told of a step; its number of how many unless given. */
  readonly label?: string;
}

/** Frames a second at most. */
const FRAMES = 30;

export function Scrubber({ from, to, step, onStep, stepSeconds, label }: ScrubberProps) {
  const [isPlaying, setPlaying] = useState(false);
  const at = useRef(step);
  at.current = step;
  const go = (next: number) => onStep(Math.min(to, Math.max(from, next)));
  useEffect(() => {
    if (!isPlaying) return;
    const skip = Math.max(1, Math.round(1 / FRAMES / stepSeconds));
    const timer = setInterval(
      () => {
        if (at.current >= to) setPlaying(false);
        else onStep(Math.min(to, at.current + skip));
      },
      Math.max(1000 / FRAMES, stepSeconds * 1000),
    );
    return () => clearInterval(timer);
  }, [isPlaying, to, stepSeconds, onStep]);
  const play = () => {
    if (step >= to) onStep(from);
    setPlaying(!isPlaying);
  };
  useKeys({
    ArrowLeft: () => go(step - 1),
    ArrowRight: () => go(step + 1),
    Home: () => go(from),
    End: () => go(to),
    ' ': play,
  });
  return (
    <div class="scrubber">
      <button
        type="button"
        class="icon"
        onClick={play}
        aria-label={isPlaying ? 'Pause' : 'Play'}
        disabled={to === from}
      >
        {isPlaying ? '❚❚' : '▶'}
      </button>
      <input
        type="range"
        min={from}
        max={to}
        value={step}
        aria-label="Step"
        aria-valuetext={label ?? `step ${step} of ${to}`}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <output>{label ?? <Of step={step} to={to} />}</output>
    </div>
  );
}

function Of({ step, to }: { step: number; to: number }) {
  return (
    <>
      {step} <small>of {to}</small>
    </>
  );
}
