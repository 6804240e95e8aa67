// Where a user's jar lies: where the scenario or an environment variable says, or in the Python package that brings it. Beside it
// the jar of py4j, through which Java is spoken to; pip installs both.

import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { reverieError } from '../../core/errors.js';
import { pythonPackage } from '../gymnasium/python-program.js';

/** A jar that a Python package brings. */
export interface PackagedJar {
  /** What it is called in errors. */
  readonly what: string;
  /** As pip knows it, and as Python imports it. */
  readonly package: string;
  readonly module: string;
  /** Environment variable that may name the jar, or its folder. */
  readonly variable: string;
}

export interface FoundJar {
  /** Absolute paths. */
  readonly jar: string;
  readonly py4j: string;
}

/**
 * @param given the jar, or a folder that holds it, relative to `folder`; absent: as the variable says, or where Python has it
 * @throws JAR_NOT_FOUND
 */
export function findJar(wanted: PackagedJar, given: string | undefined, folder: string): FoundJar {
  const named = given ?? process.env[wanted.variable];
  const place = named ? path.resolve(folder, named) : pythonFolder(wanted);
  const jar = jarAt(place, wanted);
  const py4j = py4jNear(path.dirname(jar));
  if (py4j !== undefined) return { jar, py4j };
  throw notFound(wanted, jar, 'py4j, which is needed to speak to it, is neither beside it nor in share/py4j above it');
}

function jarAt(place: string, wanted: PackagedJar): string {
  if (!existsSync(place)) throw notFound(wanted, place, 'there is nothing');
  if (!statSync(place).isDirectory()) {
    if (place.endsWith('.jar')) return place;
    throw notFound(wanted, place, 'it is no jar');
  }
  const jars = jarsIn(place).filter((file) => !isPy4j(file));
  if (jars.length === 1) return path.join(place, jars[0]);
  throw notFound(wanted, place, jars.length === 0 ? 'it holds no jar' : `it holds several: ${jars.join(', ')}`);
}

/** The package's folder, which Python knows without importing it. */
function pythonFolder(wanted: PackagedJar): string {
  const found = pythonPackage(wanted.module);
  if ('folder' in found) return found.folder;
  throw notFound(wanted, found.python, found.problem ?? `this Python has no ${wanted.package}`);
}

/** Levels from a package in site-packages up to the prefix it was installed under. */
const LEVELS = 6;

function py4jNear(folder: string): string | undefined {
  let above = folder;
  for (let level = 0; level <= LEVELS; level++) {
    for (const place of level === 0 ? [above] : [path.join(above, 'share', 'py4j')]) {
      const [file] = jarsIn(place).filter(isPy4j);
      if (file !== undefined) return path.join(place, file);
    }
    above = path.dirname(above);
  }
  return undefined;
}

function jarsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((file) => file.endsWith('.jar'));
}

function isPy4j(file: string): boolean {
  return file.startsWith('py4j');
}

function notFound({ what, package: name, variable }: PackagedJar, place: string, problem: string) {
  return reverieError('JAR_NOT_FOUND', { what, place, problem, package: name, variable });
}
