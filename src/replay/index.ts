export * from './transition.js';
