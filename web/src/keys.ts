// Keys of the page. What is typed into a field, or pressed on a button, is that field's or button's.

import { useEffect, useRef } from 'preact/hooks';

export type KeyActions = Readonly<Record<string, () => void>>;

/** What each key does, for the help. */
export const KEY_HELP: readonly (readonly [keys: string, action: string])[] = [
  ['← →', 'one step back, one step on'],
  ['Home End', 'first step, last step'],
  ['Space', 'play or pause'],
  ['g then l p r', 'go to live, play, runs'],
  ['?', 'these keys'],
  ['Esc', 'close'],
];

/** Acts on keys while the component is shown. */
export function useKeys(actions: KeyActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
      const action = latest.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function isTaken({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && target.type === 'range') return key !== ' ';
  if (target.closest('input, textarea, select, [contenteditable]') !== null) return true;
  return (key === ' ' || key === 'Enter') && target.closest('button, a, summary') !== null;
}
