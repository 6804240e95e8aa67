// Windows over stored transitions: stretches of consecutive steps of one episode, as models and policies with a memory
// learn from, and the history that led to a row.

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

/** Rows of the same episode just before `row`, at most `length` of them: how many, ending at `row - 1`. */
export function historyLength({ episode, step }: EpisodeColumns, row: number, length: number): number {
  let count = 0;
  while (
    count < length &&
    row - count > 0 &&
    episode[row - count - 1] === episode[row] &&
    step[row - count - 1] === step[row] - count - 1
  ) {
    count++;
  }
  return count;
}

function endOfRun({ episode, step }: EpisodeColumns, rows: number, from: number): number {
  let end = from + 1;
  while (end < rows && episode[end] === episode[end - 1] && step[end] === step[end - 1] + 1) end++;
  return end;
}
