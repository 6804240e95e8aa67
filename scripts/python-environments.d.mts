export interface PythonEnvironment {
  readonly python: string;
  /** What an optional install was for, to the reason why it is not there. */
  readonly missing: Readonly<Record<string, string>>;
}

export function pythonEnvironment(name: string): Promise<PythonEnvironment | string>;
