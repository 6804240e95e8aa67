import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tellFailure } from '../../src/cli/terminal.js';
import { RunInterrupted } from '../../src/run/interrupt.js';
import { commandHere } from '../e2e/reverie.js';
import { recordingStream } from '../run/streams.js';
import { temporaryFolder } from '../temporary-folder.js';

const reverie = (...args: string[]) => commandHere(args);

describe('wrong usage', () => {
  it.each([
    [['trian'], /Did you mean train/],
    [['train', 'pendulum', '--seed', 'x'], /whole number/],
    [['fit'], /fit needs --data/],
    [['train', 'pendulum', '--resume', 'x'], /leave the scenario out/],
    [['train', '--resume', 'x', '--seed', '3', '--out', 'y'], /leave out --seed, --out/],
    [['inspect'], /missing required argument/],
    [['fit', '--data', 'a', '--data', 'b'], /--data .*'b'.* "a" was given before/],
    [['fidelity', 'pendulum', '--model', 'a', '--model', 'b'], /"a" was given before/],
    [['collect', 'pendulum', '--profile', 'a', '--profile', 'b'], /"a" was given before/],
  ])('%j ends with 2 and says what to do', async (args, message) => {
    const { code, stderr, stdout } = await reverie(...args);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

describe('a failure', () => {
  it('is one line with its code and a hint, and ends with 1', async () => {
    const { code, stdout, stderr } = await reverie('scenarios', 'pendulum', '--set', 'rl.gama=0.9');
    expect(stderr).toBe(
      'error[UNKNOWN_KEY]: Unknown key "rl.gama" in --set rl.gama=0.9.\nhint: Did you mean "rl.gamma"?\n',
    );
    expect(stdout).toBe('');
    expect(code).toBe(1);
  });

  it('is one JSON object on stdout too, if asked', async () => {
    const { code, stdout } = await reverie('inspect', join(tmpdir(), 'no-such-folder'), '--json');
    expect(JSON.parse(stdout).error).toMatchObject({ code: 'INPUT_NEEDED', hint: expect.any(String) });
    expect(code).toBe(1);
  });

  it('that nobody foresaw is short, and says how to see more', () => {
    const tell = (env: Record<string, string>) => {
      const terminal = { stdout: recordingStream(), stderr: recordingStream(), env };
      expect(tellFailure(new TypeError('x is not a function'), terminal, false)).toBe(1);
      return terminal.stderr.text();
    };
    expect(tell({})).toMatch(/^error: x is not a function\n.*REVERIE_DEBUG=1/);
    expect(tell({})).not.toContain('.ts:');
    expect(tell({ REVERIE_DEBUG: '1' })).toContain('command-line.test.ts');
  });

  it('by Ctrl-C ends with 130 and says how to go on', () => {
    const terminal = { stdout: recordingStream(), stderr: recordingStream(), env: {} };
    expect(tellFailure(new RunInterrupted('train', 'runs/x'), terminal, true)).toBe(130);
    expect(terminal.stderr.text()).toContain('reverie train --resume runs/x');
    expect(JSON.parse(terminal.stdout.text()).error.resume).toBe('reverie train --resume runs/x');
  });
});

describe('scenarios', () => {
  it('lists what there is', async () => {
    const { stdout } = await reverie('scenarios');
    expect(stdout).toMatch(/^cartpole-swingup +Swing/m);
    const { scenarios } = JSON.parse((await reverie('scenarios', '--json')).stdout);
    expect(scenarios.map((scenario: { name: string }) => scenario.name)).toContain('hopper');
  });

  it('shows one in full, as a scenario file of its own', async () => {
    const shown = await reverie('scenarios', 'hopper', '--profile', 'smoke', '--seed', '4');
    const folder = temporaryFolder('shown');
    writeFileSync(join(folder, 'scenario.yaml'), shown.stdout);
    expect((await reverie('scenarios', folder)).stdout).toBe(shown.stdout);
    const { config, hash } = JSON.parse((await reverie('scenarios', folder, '--json')).stdout);
    expect(config.seed).toBe(4);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
  });
});
