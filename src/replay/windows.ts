// Windows over stored transitions: stretches of consecutive steps of one episode, as models and policies with a memory
// learn from. The history that led to a row is drawn with the start (src/synth/rollout/starts.ts).

/** Stretches of rows: window w is rows `start[w]` … `start[w] + length[w] - 1`, in order of time. */
export interface Windows {
  readonly start: Uint32Array;
  readonly length: Uint32Array;
}

interface EpisodeColumns {
  /** Per row, episode number. */
  readonly episode: ArrayLike<number>;
  /** Per row, step within the episode. */
  readonly step: ArrayLike<number>;
}

/**
 * Cuts rows [0, rows) into windows of at most `length` rows, one beginning every `stride` rows of an episode. A window ends
 * where its episode does, or where the row that would follow was overwritten; windows shorter than `shortest` are left out.
 */
export function windowsOf(
  columns: EpisodeColumns,
  rows: number,
  length: number,
  { stride = length, shortest = 1 }: { readonly stride?: number; readonly shortest?: number } = {},
): Windows {
  const start: number[] = [];
  const lengths: number[] = [];
  for (let from = 0; from < rows; ) {
    const end = endOfRun(columns, rows, from);
    for (let at = from; at < end; at += stride) {
      const count = Math.min(length, end - at);
      // A last short window shows nothing that the window before it has not shown.
      const isCovered = at > from && at - stride + length >= end;
      if (count < shortest || isCovered) continue;
      start.push(at);
      lengths.push(count);
    }
    from = end;
  }
  return { start: Uint32Array.from(start), length: Uint32Array.from(lengths) };
}

function endOfRun({ episode, step }: EpisodeColumns, rows: number, from: number): number {
  let end = from + 1;
  while (end < rows && episode[end] === episode[end - 1] && step[end] === step[end - 1] + 1) end++;
  return end;
}
