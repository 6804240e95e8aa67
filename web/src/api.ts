// What the page asks of its server. What went wrong is told in the server's own words.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

/** @throws ApiError */
export async function ask<R>(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST'): Promise<R> {
  const reply = await sent(path, body, method);
  const text = await reply.text();
  if (reply.ok) return (text === '' ? undefined : JSON.parse(text)) as R;
  throw errorIn(reply, text);
}

async function sent(path: string, body: unknown, method: string): Promise<Response> {
  const content =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  try {
    return await fetch(path, { method, ...content });
  } catch {
    throw new ApiError(
      'UNREACHABLE',
      'The server does not answer.',
      'Is it still running? The page tries again by itself where it can.',
    );
  }
}

function errorIn({ status, statusText }: Response, text: string): ApiError {
  try {
    const { code, message, hint } = (JSON.parse(text) as { error: { code: string; message: string; hint: string } })
      .error;
    return new ApiError(code, message, hint);
  } catch {
    return new ApiError(String(status), `The server answered ${status} ${statusText}.`, '');
  }
}

/** A path with its query; what is empty is left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | readonly string[] | undefined | null>>,
): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') params.append(name, String(one));
    }
  }
  const text = params.toString();
  return text === '' ? path : `${path}?${text}`;
}

export interface Asked<R> {
  /** The last answer; stays while the next one is awaited, so that nothing jumps. */
  readonly data: R | undefined;
  readonly error: ApiError | undefined;
  readonly again: () => void;
}

/** Asks whenever `path` changes; null: does not ask. */
export function useAsked<R>(path: string | null): Asked<R> {
  const [state, setState] = useState<{ path?: string; data?: R; error?: ApiError }>({});
  const latest = useRef(0);
  const again = useCallback(() => {
    if (path === null) return;
    const mine = ++latest.current;
    ask<R>(path).then(
      (data) => mine === latest.current && setState({ path, data }),
      (error: ApiError) => mine === latest.current && setState((known) => ({ ...known, error })),
    );
  }, [path]);
  useEffect(again, [again]);
  return { data: state.data, error: state.error, again };
}

/** Listens to a stream of events; the browser comes back by itself when the line breaks. */
export function useEvents<E>(path: string | null, name: string, onEvent: (event: E) => void): boolean {
  const [isConnected, setConnected] = useState(true);
  const handler = useRef(onEvent);
  handler.current = onEvent;
  useEffect(() => {
    if (path === null) return;
    const source = new EventSource(path);
    source.onopen = () => setConnected(true);
    source.onerror = () => setConnected(false);
    source.addEventListener(name, (event) => handler.current(JSON.parse((event as MessageEvent<string>).data) as E));
    return () => source.close();
  }, [path, name]);
  return isConnected;
}
