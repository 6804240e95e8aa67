// Which page is shown, kept in the address after the #: a place can be linked to, and the server need not know it.

import { useEffect, useState } from 'preact/hooks';

export interface Route {
  /** First segment, `` for the live page. */
  readonly page: string;
  readonly params: URLSearchParams;
}

export function routeOf(hash: string): Route {
  const [page, query = ''] = hash.replace(/^#\/?/, '').split('?');
  return { page, params: new URLSearchParams(query) };
}

/** The address of a page; what is empty is left out. */
export function linkTo(
  page: string,
  params: Readonly<Record<string, string | number | undefined | null>> = {},
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${page}${text === '' ? '' : `?${text}`}`;
}

export function goTo(link: string): void {
  location.hash = link.slice(1);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const onChange = () => setRoute(routeOf(location.hash));
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return route;
}
