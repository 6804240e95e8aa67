import { execFileSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSealed, sealedText } from '../../src/core/files.js';
import { Rng } from '../../src/core/rng.js';
import { InferenceSession } from '../../src/nn/runtime.js';
import { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { loadWorldModel } from '../../src/worldmodel/kinds.js';
import { temporaryFolder } from '../temporary-folder.js';
import { linearSpaces, linearTransitions, smallConfig } from './linear-system.js';

const config = { ...smallConfig, hidden: [16, 16], maxEpochs: 3 };

describe('an ensemble on disk', () => {
  const folder = temporaryFolder('ensemble');
  let stored: string;
  let model: EnsembleModel;

  beforeAll(async () => {
    stored = join(folder, 'stored');
    const batch = linearTransitions(500, Rng.fromSeed(1));
    ({ model } = await fitEnsemble(batch, linearSpaces, config, { rng: Rng.fromSeed(2) }));
    await model.save(stored);
  });
  afterAll(() => model.close());

  it('is a manifest, one .onnx a member and the parameters', async () => {
    const files = ['manifest.json', 'member-0.onnx', 'member-1.onnx', 'member-2.onnx', 'parameters.f32'];
    expect((await readdir(stored)).sort()).toEqual(files);
    const session = await InferenceSession.fromBytes(await readFile(join(stored, 'member-1.onnx')));
    expect(session.inputs).toEqual([{ name: 'input', dtype: 'float32', shape: ['batch', 3] }]);
    expect(session.outputs.map(({ name }) => name)).toEqual(['mean', 'std']);
    expect(JSON.parse(session.metadata['observationSpace'])).toEqual(linearSpaces.observationSpace);
    await session.release();
  });

  it('warm-starts after loading exactly as before saving', async () => {
    const loaded = await EnsembleModel.load(stored);
    const batch = linearTransitions(400, Rng.fromSeed(3));
    const options = { rng: Rng.fromSeed(4) };
    const fromMemory = await fitEnsemble(batch, linearSpaces, config, { ...options, previous: model });
    const fromDisk = await fitEnsemble(batch, linearSpaces, config, { ...options, previous: loaded });
    expect(fromDisk.model.modelVersion).toBe(fromMemory.model.modelVersion);
    const revived = (await loadWorldModel(model.snapshot())) as EnsembleModel;
    const fromSnapshot = await fitEnsemble(batch, linearSpaces, config, { ...options, previous: revived });
    expect(fromSnapshot.model.modelVersion).toBe(fromMemory.model.modelVersion);
    await Promise.all(
      [loaded, fromMemory.model, fromSnapshot.model, fromDisk.model, revived].map((each) => each.close()),
    );
  });

  describe('when damaged', () => {
    const damages: [string, (copy: string) => Promise<void>, RegExp][] = [
      ['a model is cut short', (copy) => truncate(join(copy, 'member-1.onnx'), 100), /member-1\.onnx.*damaged/],
      ['a model is missing', (copy) => rm(join(copy, 'member-2.onnx')), /member-2\.onnx.*cannot be read/],
      ['a model is a folder', (copy) => replaced(copy, (path) => mkdir(path)), /member-2\.onnx.*regular file/],
      ['a model is a pipe', (copy) => replaced(copy, (path) => execFileSync('mkfifo', [path])), /regular file/],
      ['models are exchanged', (copy) => rename(join(copy, 'member-0.onnx'), join(copy, 'member-1.onnx')), /member/],
      ['the manifest is missing', (copy) => rm(join(copy, 'manifest.json')), /manifest\.json.*cannot be read/],
      [
        'the manifest was edited',
        (copy) => edit(copy, (m) => Object.assign(m, { modelVersion: '' }), false),
        /its seal/,
      ],
      ['the seal is gone', (copy) => writeManifest(copy, (text) => JSON.stringify(openSealed(text))), /no seal/],
      ['elites do not exist', (copy) => edit(copy, (m) => Object.assign(m.description, { elites: [7] })), /elites/],
      ['a file lies elsewhere', (copy) => edit(copy, (m) => Object.assign(m, { files: {} })), /no hash/],
    ];

    it.each(damages)('is refused with one clear error: %s', async (_, damage, message) => {
      const copy = join(folder, 'copy');
      await cp(stored, copy, { recursive: true });
      try {
        await damage(copy);
        const loading = loadWorldModel(copy);
        await expect(loading).rejects.toMatchObject({ code: 'MODEL_FILE_INVALID' });
        await expect(loading).rejects.toThrow(message);
      } finally {
        await rm(copy, { recursive: true });
      }
    });
  });
});

async function replaced(copy: string, by: (path: string) => unknown): Promise<void> {
  const path = join(copy, 'member-2.onnx');
  await rm(path);
  await by(path);
}

// biome-ignore lint/suspicious/noExplicitAny: a manifest to be damaged
function edit(copy: string, change: (manifest: any) => void, isSealedAnew = true): Promise<void> {
  return writeManifest(copy, (text) => {
    const manifest = isSealedAnew ? openSealed(text) : JSON.parse(text);
    change(manifest);
    return isSealedAnew ? sealedText(manifest) : JSON.stringify(manifest, null, 2);
  });
}

async function writeManifest(copy: string, change: (text: string) => string): Promise<void> {
  const path = join(copy, 'manifest.json');
  await writeFile(path, change(await readFile(path, 'utf8')));
}
