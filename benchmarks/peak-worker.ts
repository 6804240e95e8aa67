// A worker of peak-threads.ts: does multiply-adds in registers when it is told to.

import { parentPort, workerData } from 'node:worker_threads';
import { nativePeak } from '../src/nn/cuda.js';

const { width, rounds } = workerData as { readonly width: string; readonly rounds: number };
parentPort!.on('message', () => parentPort!.postMessage(nativePeak(width, rounds)));
parentPort!.postMessage('ready');
