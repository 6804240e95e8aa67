// ONNX Runtime compiled to WebAssembly, in the place of the one for Node: the same operators, on one thread.

import { env } from 'onnxruntime-web/wasm';

export * from 'onnxruntime-web/wasm';

/** Before the first session. @param binary the compiled runtime */
export function useRuntime(binary: Uint8Array): void {
  env.wasm.numThreads = 1;
  env.wasm.wasmBinary = binary.slice().buffer;
}
