// Work done a few pieces ahead of whoever reads it, and read in order: what keeps every thread busy and memory bounded.

export interface InOrderOptions {
  /** Pieces under way at once, at least 1. */
  readonly ahead: number;
  readonly signal?: AbortSignal;
}

/**
 * The answers of `work` on each piece, in the order of the pieces. A reader that waits makes the workers wait; leaving the loop
 * early gives the rest up: the signal that `work` gets aborts, and the loop ends once all under way have ended.
 * @throws what `work` throws, or the signal's reason
 */
export async function* inOrder<Piece, Answer>(
  pieces: Iterable<Piece>,
  work: (piece: Piece, signal: AbortSignal) => Promise<Answer>,
  { ahead, signal }: InOrderOptions,
): AsyncGenerator<Answer> {
  const control = new AbortController();
  const giveUp = () => control.abort(signal?.reason);
  signal?.addEventListener('abort', giveUp);
  const underWay: Promise<Answer>[] = [];
  const begin = (piece: Piece) => {
    const answer = work(piece, control.signal);
    // Others may fail before it: its own failure is seen when its turn comes.
    answer.catch(() => {});
    underWay.push(answer);
  };
  try {
    for (const piece of pieces) {
      signal?.throwIfAborted();
      begin(piece);
      if (underWay.length >= ahead) yield await underWay.shift()!;
    }
    while (underWay.length > 0) {
      signal?.throwIfAborted();
      yield await underWay.shift()!;
    }
  } finally {
    giveUp();
    signal?.removeEventListener('abort', giveUp);
    await Promise.allSettled(underWay);
  }
}
