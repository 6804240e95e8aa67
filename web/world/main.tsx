// Where the page of a world begins: unpacks what was written into it, opens it, and shows it.

import { render } from 'preact';
import '../src/style/base.css';
import '../src/style/forms.css';
import '../src/style/episodes.css';
import { readEmbedded } from './embedded.js';
import { useRuntime } from './node/runtime.js';
import { openWorld } from './open-world.js';
import { WorldPage } from './world-page.js';
import './world.css';

const page = document.getElementById('page')!;

/** Node's; here whatever waits for it comes once what is under way is done. */
const later = (work: () => void) => setTimeout(work, 0);
Object.assign(globalThis, { setImmediate: later });

try {
  const { data, files, runtime } = await readEmbedded();
  if (runtime !== undefined) useRuntime(runtime);
  const world = await openWorld(data, files);
  document.title = data.name;
  page.textContent = '';
  render(<WorldPage world={world} data={data} />, page);
} catch (error) {
  page.className = 'problem';
  page.textContent = (error as Error).message;
}
