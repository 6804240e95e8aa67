// The episode that a session is in, as it goes on.

import { useRef, useState } from 'preact/hooks';
import type { EpisodeView, LiveView } from '../../../src/serve/page/wire.js';
import { useAsked, useEvents } from '../api.js';
import { Episode, EpisodeHead } from '../parts/episode.js';
import { Loading } from '../parts/loading.js';
import { Problem } from '../parts/problem.js';

export function SessionPage({ id }: { id: string }) {
  const [follow, setFollow] = useState(true);
  const { data: episode, error, again } = useAsked<EpisodeView>(`/web/api/sessions/${encodeURIComponent(id)}`);
  const isOver = episode === undefined || episode.status === 'closed';
  const last = useRef('');
  useEvents<LiveView>(isOver ? null : '/web/api/live/events', 'live', ({ sessions }) => {
    const row = JSON.stringify(sessions.find(({ key }) => key === episode?.session) ?? null);
    if (row !== last.current) again();
    last.current = row;
  });
  if (episode === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  return (
    <>
      <EpisodeHead episode={episode} />
      <Problem error={error} />
      <label class="follow">
        <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} /> follow
        what happens
      </label>
      <Episode episode={episode} follow={follow} onFollow={setFollow} />
    </>
  );
}
