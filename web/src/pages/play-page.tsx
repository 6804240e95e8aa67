// An episode played by hand: act, take back, and branch to see what else would have come of it.

import { useRef, useState } from 'preact/hooks';
import type { EpisodeView, PlayableView } from '../../../src/serve/page/wire.js';
import { type ApiError, useAsked } from '../api.js';
import { ActForm } from '../parts/act-forms.js';
import { Beside, useBeside } from '../parts/beside.js';
import { Episode } from '../parts/episode.js';
import { Empty, Problem } from '../parts/problem.js';
import { Reward } from '../parts/verdict.js';
import { act, type Branch, begin, end, fork, type Start, undo } from '../play.js';
import { linkTo } from '../route.js';

/** Outlives the page, so that one may look elsewhere and come back. */
let kept: readonly Branch[] = [];

export function PlayPage({ env }: { env: string | null }) {
  const environments = useAsked<readonly PlayableView[]>('/web/api/environments');
  const [branches, setBranches] = useState(kept);
  const [error, setError] = useState<ApiError>();
  const change = (next: readonly Branch[]) => {
    kept = next;
    setBranches(next);
  };
  const start = async (from: Start) => {
    setError(undefined);
    await Promise.all(kept.map((branch) => end(branch).catch(() => {})));
    change([]);
    await begin(from, 'A').then((branch) => change([branch]), setError);
  };
  const known = environments.data ?? [];
  return (
    <>
      <h1>Play by hand</h1>
      <Problem error={environments.error ?? error} />
      {known.length === 0 ? null : (
        <StartForm environments={known} env={env} isPlaying={branches.length > 0} onStart={start} />
      )}
      {branches.length === 0 ? (
        <Empty>
          Choose an environment and begin. What you do is a session like any client's: it can be watched on the live
          page.
        </Empty>
      ) : (
        <div class="branches">
          {branches.map((branch) => (
            <BranchView
              key={branch.id}
              branch={branch}
              env={known.find(({ name }) => name === branch.env)}
              isAlone={branches.length === 1}
              onBranch={(next) => change(kept.map((one) => (one.id === next.id ? next : one)))}
              onFork={(next) => change([...kept, next])}
              onClose={() => change(kept.filter(({ id }) => id !== branch.id))}
              nextName={String.fromCharCode(65 + branches.length)}
            />
          ))}
        </div>
      )}
    </>
  );
}

interface StartFormProps {
  readonly environments: readonly PlayableView[];
  readonly env: string | null;
  readonly isPlaying: boolean;
  readonly onStart: (start: Start) => Promise<void>;
}

function StartForm({ environments, env, isPlaying, onStart }: StartFormProps) {
  const [name, setName] = useState(kept[0]?.env ?? env ?? environments[0].name);
  const [task, setTask] = useState('');
  const [seed, setSeed] = useState('1');
  const [beside, setBeside] = useState('');
  const chosen = environments.find((one) => one.name === name) ?? environments[0];
  const others = environments.filter((one) => isLikewise(one, chosen));
  const other = others.find((one) => one.name === beside);
  const submit = (event: Event) => {
    event.preventDefault();
    void onStart({
      env: chosen.name,
      // Two environments need not agree on which task is the first.
      task: task === '' ? other && chosen.tasks[0]?.id : task,
      seed: seed === '' ? undefined : Number(seed),
      ...(other && { beside: other.name }),
    });
  };
  return (
    <form class="filters" onSubmit={submit}>
      <label>
        environment
        <select
          value={chosen.name}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setTask('');
          }}
        >
          {environments.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name} ({one.source})
            </option>
          ))}
        </select>
      </label>
      {chosen.tasks.length === 0 || chosen.family === 'vector' ? null : (
        <label>
          task
          <select value={task} onChange={(event) => setTask(event.currentTarget.value)}>
            <option value="">the first</option>
            {chosen.tasks.map(({ id, split }) => (
              <option key={id} value={id}>
                {id} ({split})
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        seed
        <input type="number" min={0} step={1} value={seed} onInput={(event) => setSeed(event.currentTarget.value)} />
      </label>
      {others.length === 0 ? null : (
        <label>
          beside it
          <select value={other?.name ?? ''} onChange={(event) => setBeside(event.currentTarget.value)}>
            <option value="">nothing</option>
            {others.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name} ({one.source})
              </option>
            ))}
          </select>
        </label>
      )}
      <button type="submit" class="main">
        {isPlaying ? 'Begin anew' : 'Begin'}
      </button>
      <p class="quiet grow">{chosen.description}</p>
    </form>
  );
}

/** Whether the same tasks can be lived there: of numbers no two episodes are alike. */
function isLikewise({ name, family, tasks }: PlayableView, chosen: PlayableView): boolean {
  const known = new Set(tasks.map(({ id }) => id));
  return (
    name !== chosen.name &&
    family !== 'vector' &&
    family === chosen.family &&
    chosen.tasks.some(({ id }) => known.has(id))
  );
}

interface BranchProps {
  readonly branch: Branch;
  readonly env: PlayableView | undefined;
  readonly isAlone: boolean;
  readonly nextName: string;
  readonly onBranch: (branch: Branch) => void;
  readonly onFork: (branch: Branch) => void;
  readonly onClose: () => void;
}

function BranchView({ branch, env, isAlone, nextName, onBranch, onFork, onClose }: BranchProps) {
  const {
    data: episode,
    error: unread,
    again,
  } = useAsked<EpisodeView>(`/web/api/sessions/${encodeURIComponent(branch.id)}`);
  const other = useBeside(branch.beside?.id);
  const [error, setError] = useState<ApiError>();
  // Not a reason to disable anything: a disabled button loses the focus of who uses the keyboard.
  const isBusy = useRef(false);
  const [follow, setFollow] = useState(true);
  const doing = async (work: () => Promise<void>) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setError(undefined);
    setFollow(true);
    await work().catch(setError);
    isBusy.current = false;
    again();
    other.again();
  };
  // What has ended waits for what is beside it.
  const isOver = episode?.status !== 'running' && other.data?.status !== 'running';
  // Below what was said last; above a body and its many curves.
  const form =
    env === undefined || isOver ? null : (
      <ActForm
        env={env}
        turn={episode?.turns.at(-1)}
        disabled={isOver}
        onAct={(action, times) => doing(() => act(branch, action, times).then(onBranch))}
      />
    );
  return (
    <section class="branch" aria-label={`Branch ${branch.name}`}>
      <header>
        <h2>{branch.name}</h2>
        <p class="line">
          <span>
            steps <b>{episode?.turns.at(-1)?.step ?? 0}</b>
          </span>
          <span>
            return <Reward value={episode?.return ?? null} isFinal={isOver} />
          </span>
          <span class={`tag status ${episode?.status}`}>{episode?.status ?? ''}</span>
        </p>
        <div class="buttons">
          <button
            type="button"
            disabled={branch.trail.length < 2}
            onClick={() => doing(() => undo(branch).then(onBranch))}
          >
            Undo
          </button>
          <button type="button" disabled={isOver} onClick={() => doing(() => fork(branch, nextName).then(onFork))}>
            Fork
          </button>
          <a class="button" href={linkTo('session', { id: branch.id })}>
            Watch
          </a>
          {isAlone ? null : (
            <button type="button" onClick={() => doing(() => end(branch).then(onClose))}>
              Close
            </button>
          )}
        </div>
      </header>
      <Problem error={error ?? unread} />
      {env?.family === 'vector' ? form : null}
      {episode === undefined ? null : branch.beside === undefined ? (
        <Episode episode={episode} follow={follow} onFollow={setFollow} />
      ) : (
        <Beside own={episode} other={other.data} error={other.error} follow={follow} onFollow={setFollow} />
      )}
      {env?.family === 'vector' ? null : form}
    </section>
  );
}
