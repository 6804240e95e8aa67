// The frame of the page: where one can go, the keys, and the page one is on.

import { useEffect, useRef, useState } from 'preact/hooks';
import { KEY_HELP, useKeys } from './keys.js';
import { LivePage } from './pages/live-page.js';
import { PlayPage } from './pages/play-page.js';
import { ReportPage } from './pages/report-page.js';
import { RunsPage } from './pages/runs-page.js';
import { SessionPage } from './pages/session-page.js';
import { Facts } from './parts/facts.js';
import { goTo, linkTo, type Route, useRoute } from './route.js';

const PLACES = [
  { page: '', name: 'Live', key: 'l', also: ['session'] },
  { page: 'play', name: 'Play', key: 'p', also: [] },
  { page: 'runs', name: 'Runs', key: 'r', also: ['report'] },
] as const;

export function App() {
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const [isHelpOpen, setHelp] = useState(false);
  usePlaceKeys(() => setHelp(true));
  useEffect(() => {
    scrollTo(0, 0);
    const place = PLACES.find(
      ({ page, also }) => page === route.page || (also as readonly string[]).includes(route.page),
    );
    document.title = place === undefined ? 'Reverie' : `${place.name} · Reverie`;
  }, [route.page]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        To the content
      </button>
      <nav aria-label="Pages">
        <a class="brand" href={linkTo('')}>
          <img src="./icon.svg" alt="" width={18} height={18} /> Reverie
        </a>
        {PLACES.map(({ page, name, also }) => (
          <a key={page} href={linkTo(page)} aria-current={isAt(route, page, also) ? 'page' : undefined}>
            {name}
          </a>
        ))}
        <button type="button" class="keys" onClick={() => setHelp(true)} aria-label="Keys">
          ?
        </button>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <Page route={route} />
      </main>
      {isHelpOpen ? <Help onClose={() => setHelp(false)} /> : null}
    </>
  );
}

function isAt({ page }: Route, place: string, also: readonly string[]): boolean {
  return page === place || also.includes(page);
}

function Page({ route: { page, params } }: { route: Route }) {
  switch (page) {
    case '':
      return <LivePage />;
    case 'session':
      return <SessionPage key={params.get('id')} id={params.get('id') ?? ''} />;
    case 'play':
      return <PlayPage env={params.get('env')} />;
    case 'runs':
      return <RunsPage />;
    case 'report':
      return <ReportPage path={params.get('path') ?? ''} />;
    default:
      return (
        <p class="empty">
          There is no page “{page}”. <a href={linkTo('')}>To what is live</a>
        </p>
      );
  }
}

/** `g` and a letter goes to a page, `?` shows the keys. */
function usePlaceKeys(onHelp: () => void): void {
  const isGoing = useRef(false);
  const places = Object.fromEntries(
    PLACES.map(({ page, key }) => [
      key,
      () => {
        if (isGoing.current) goTo(linkTo(page));
        isGoing.current = false;
      },
    ]),
  );
  useKeys({
    ...places,
    g: () => {
      isGoing.current = true;
    },
    '?': onHelp,
  });
}

function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Keys">
      <h2>Keys</h2>
      <Facts facts={KEY_HELP.map(([keys, action]) => [keys, action] as const)} />
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
