// Rows as they are lived, each judged once: what passes is a line of data/episodes.jsonl, which is there whole when all are.

import { join, resolve } from 'node:path';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type FailedRow, isFailed } from '../../../synth/episodes/produce-rows.js';
import type { DatasetReport } from '../../../synth/quality/filter.js';
import { QualityPipeline } from '../../../synth/quality/quality-pipeline.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';

export const EPISODES_FILE = 'episodes.jsonl';

/** The filters' section, its files by their whole paths. */
export function qualityOf({ config, folder }: ToolsScenario): ToolsScenario['config']['quality'] {
  const { quality } = config;
  const files = quality.decontaminate.files.map((file) => resolve(folder, file));
  return { ...quality, decontaminate: { ...quality.decontaminate, files } };
}

/** Lines that wait to be written are written together. */
class Lines {
  private waiting: Uint8Array[] = [];
  private ended: 'done' | 'abandoned' | undefined;
  private wake: () => void = () => {};

  add(line: Uint8Array): void {
    this.waiting.push(line);
    this.wake();
  }

  end(how: 'done' | 'abandoned'): void {
    this.ended ??= how;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const lines = this.waiting;
      this.waiting = [];
      if (lines.length > 0) yield Buffer.concat(lines);
      else if (this.ended === 'done') return;
      else if (this.ended === 'abandoned') throw new Error('abandoned');
      else {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    }
  }
}

/** Of an episode in the file, as UTF-8. */
function lineOf(record: EpisodeRecord): Uint8Array {
  return Buffer.from(`${JSON.stringify(record)}\n`);
}

export class JudgedRows {
  /** Folder of the file. */
  readonly data: string;
  private readonly pipeline: QualityPipeline;
  private readonly lines = new Lines();
  private writing: Promise<void> | undefined;

  /** @throws as `QualityPipeline` */
  constructor({ scenario, out }: Pick<JobContext<ToolsScenario>, 'scenario' | 'out'>, domain: ToolsDomain) {
    this.data = join(out, 'data');
    this.pipeline = new QualityPipeline({ config: qualityOf(scenario), domain });
  }

  get progress(): QualityPipeline['progress'] {
    return this.pipeline.progress;
  }

  /** Rows in order, each once. */
  judge(row: EpisodeRecord | FailedRow): void {
    if (!isFailed(row)) {
      const kept = this.pipeline.judge(row);
      if (kept !== undefined) this.lines.add(lineOf(kept));
    }
    this.begin();
  }

  /** Once all rows are judged: what became of them, their file being whole. Throws STORAGE_FULL, STORAGE_FAILED. */
  async finish(): Promise<DatasetReport> {
    this.lines.end('done');
    await this.begin();
    return this.pipeline.report();
  }

  /** Of a job that ends otherwise no file is left. Does nothing once all is there. */
  async abandon(): Promise<void> {
    this.lines.end('abandoned');
    await this.writing?.catch(() => undefined);
  }

  /** Whatever an interrupted run left of the file is replaced. Not before there is a row: then nothing need be undone. */
  private begin(): Promise<void> {
    this.writing ??= this.write();
    // Told by whoever waits for the end.
    this.writing.catch(() => undefined);
    return this.writing;
  }

  private async write(): Promise<void> {
    await ensureFolder(this.data);
    await writeFileAtomic(join(this.data, EPISODES_FILE), this.lines);
  }
}
