// Saves one version after another of a buffer (version n: 3000 n rows inserted, all rewards n), printing n once it is saved, or the code
// of the error that ended it.

const [folder, buffers, columns] = process.argv.slice(2);
const rows = Number(process.argv[5]);
const { ReplayBuffer } = await import(buffers);
const { allocateBatch } = await import(columns);
let buffer = await ReplayBuffer.load(folder).catch(() => undefined);
if (buffer?.size !== rows) buffer = new ReplayBuffer({ capacity: rows, obsDim: 20, actionDim: 5, source: 'real' });
const provenance = {
  source: 'real',
  backend: 'real',
  modelVersion: '',
  scenario: 's',
  policyVersion: 'p',
  seed: 0,
  episode: new Float64Array(rows),
  step: new Uint32Array(rows),
};
const batch = allocateBatch(rows, 20, 5);
try {
  for (;;) {
    batch.reward.fill(buffer.inserted / rows + 1);
    buffer.append(batch, provenance);
    await buffer.save(folder);
    console.log(buffer.inserted / rows);
  }
} catch (error) {
  console.log(error.code);
}
