// Dynamics of a user's own in the registry.

import { z } from 'zod';
import type { DynamicsEntry, DynamicsKind } from '../dynamics.js';
import { ONNX_FORMAT, type OnnxPayload, onnxFiles } from './onnx-dynamics.js';

const onnxSection = z.strictObject({
  kind: z.literal('onnx').describe('Dynamics of your own as an ONNX file.'),
  folder: z.string().min(1).describe('Folder of the model and its manifest, relative to the scenario.'),
});

export const onnxEntry: DynamicsEntry = {
  name: 'onnx',
  summary: 'Dynamics of your own as an ONNX file; without a memory.',
  format: ONNX_FORMAT,
  schema: onnxSection,
  broughtFolder: ({ folder }) => String(folder),
  filesOf: onnxFiles,
  make: async (): Promise<DynamicsKind> => {
    const { OnnxDynamics } = await import('./onnx-dynamics.js');
    return {
      load: (folder) => OnnxDynamics.load(folder),
      revive: ({ payload }) => OnnxDynamics.revive(payload as OnnxPayload),
    };
  },
};
