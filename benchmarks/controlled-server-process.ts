// A controlled language model of a scenario in a process of its own, as a real one is. How it errs is said by the model's
// name in each request, so that one process is as many models as a benchmark compares. Sends its URL to its parent.

import { makeDomain } from '../src/env/tools/domains.js';
import { answerOf } from '../test/controlled/controlled-model.js';
import type { ControlledOptions } from '../test/controlled/controlled-options.js';
import { nativeDomain } from '../test/controlled/native-domain.js';
import { Truth } from '../test/controlled/truth.js';
import { startLlmServer } from '../test/llm-server/llm-server.js';
import { errorsOfModel } from './controlled-name.js';

const [name, folder] = process.argv.slice(2);
const domain =
  name === 'tau-airline'
    ? await makeDomain({ id: 'tau-airline', data: folder, release: 'tau1' })
    : await nativeDomain(name, folder);
const truth = new Truth(domain);
const settings = new Map<string, ControlledOptions>();

function settingsOf(model: string): ControlledOptions {
  const known = settings.get(model) ?? { domain, judgeReads: 'conversation', ...errorsOfModel(model) };
  settings.set(model, known);
  return known;
}

const server = await startLlmServer({
  model: 'controlled',
  keepRequests: false,
  answer: (body) => answerOf(body, truth, settingsOf(body.model)),
});
process.send!(server.url);
process.on('disconnect', () => process.exit());
