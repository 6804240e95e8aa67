// Opens what a server is to serve, each under the name it is served as.

import { reverieError } from '../errors.js';
import { type AnyScenario, type DeviceFlags, openServable, type Servable } from '../run/index.js';

export interface OpenOptions {
  /** What is served: scenarios, the first of which clients get where they name none. */
  readonly scenarios: readonly AnyScenario[];
  /** Served after them: environments of one's own. The server closes them. */
  readonly environments?: readonly Servable[];
  /** What they are served as, in the same order; where it is not said, by their own names. */
  readonly names?: readonly (string | undefined)[];
  /** Serve the real environments even where there is a dream of them. */
  readonly real?: boolean;
  /** A world model, or a run that holds one, for the scenarios of family `vector`. */
  readonly model?: string;
  /** The same for single ones, by the name they are served as. */
  readonly models?: Readonly<Record<string, string>>;
  /** What learned dynamics run on; `auto` unless given. */
  readonly device?: DeviceFlags;
  /** Folder for what is kept while serving: replies of language models, experience. */
  readonly folder: string;
  readonly log: (line: string) => void;
}

/** Names become parts of paths. */
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** In the order given, scenarios first. @throws FLAG_INVALID, ENV_NAME_INVALID, ENV_NAME_TWICE; as `openServable` */
export async function openScenarios(options: OpenOptions): Promise<readonly Servable[]> {
  const names = options.scenarios.map(({ config }, i) => options.names?.[i] ?? config.name);
  const { environments = [] } = options;
  checkNames([...names, ...environments.map(({ name }) => name)]);
  checkModels(options, names);
  const served: Servable[] = [];
  try {
    for (const [i, scenario] of options.scenarios.entries()) {
      const { real, folder, log, models, device } = options;
      const model = models?.[names[i]] ?? options.model;
      const opened = await openServable(scenario, {
        real,
        folder,
        log,
        device,
        ...(model === undefined ? {} : { model }),
      });
      served.push(opened.name === names[i] ? opened : { ...opened, name: names[i] });
    }
  } catch (error) {
    for (const one of served) await one.close();
    throw error;
  }
  return [...served, ...environments];
}

function checkNames(names: readonly string[]): void {
  for (const [i, name] of names.entries()) {
    if (!NAME.test(name)) throw reverieError('ENV_NAME_INVALID', { name });
    if (names.indexOf(name) < i) throw reverieError('ENV_NAME_TWICE', { name });
  }
}

/** A model that nothing would use is a mistake. */
function checkModels({ scenarios, model, models = {}, real, device }: OpenOptions, names: readonly string[]): void {
  const vector = names.filter((_, i) => scenarios[i].family === 'vector');
  const refuse = (value: string, expected: string) => {
    throw reverieError('FLAG_INVALID', { flag: '--model', value, expected });
  };
  const given = model ?? Object.values(models)[0];
  const asked = device?.device ?? 'auto';
  if (given === undefined && asked !== 'auto' && asked !== 'cpu') {
    const expected = 'auto or cpu, as no world model is served (--model)';
    throw reverieError('FLAG_INVALID', { flag: '--device', value: asked, expected });
  }
  if (given !== undefined && real) refuse(given, 'none, as --real serves the real environments');
  if (model !== undefined && vector.length === 0) refuse(model, 'none, as no scenario of family vector is served');
  for (const [name, folder] of Object.entries(models)) {
    if (!vector.includes(name))
      refuse(`${name}=${folder}`, `the name of a served vector environment (${vector.join(', ') || 'none is'})`);
  }
}
