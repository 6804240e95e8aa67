// What rooms that are imported nowhere do for others: functions by name, loaded when one is asked for. The caller says what type it expects.

import { type Entry, Registry } from './registry.js';

const services = new Registry<Entry<unknown>>('service');

/** @throws NAME_UNKNOWN */
export async function service<Provided>(name: string): Promise<Provided> {
  return (await services.get(name).make()) as Provided;
}
