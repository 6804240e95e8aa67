// What went wrong, in the server's words, with the way out.

import type { ApiError } from '../api.js';

export function Problem({ error }: { error: ApiError | undefined }) {
  if (error === undefined) return null;
  return (
    <div class="problem" role="alert">
      <b>{error.message}</b> <span>{error.hint}</span> <code>{error.code}</code>
    </div>
  );
}

/** Where there is nothing to show yet, and how something would come. */
export function Empty({ children }: { children: preact.ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
