// How far the dreams of a run are from the real, laid out from its fidelity.json.

import { useEffect } from 'preact/hooks';
import type { FidelityTable } from '../../../src/fidelity/report/fidelity-report.js';
import { figuresOf, notesOf, tablesOf } from '../../../src/fidelity/report/figures.js';

import {
  headlineRows,
  type SectionGroup,
  type ShownReport,
  sectionGroups,
  truthText,
} from '../../../src/fidelity/report/shown-report.js';
import { gateText, intervalText, valueText } from '../../../src/fidelity/report/wording.js';
import { useAsked, withQuery } from '../api.js';
import { Facts } from '../parts/facts.js';
import { FidelityFigure } from '../parts/fidelity-figure.js';
import { COLOURS } from '../parts/line-chart.js';
import { Loading } from '../parts/loading.js';
import { Measures, Who } from '../parts/measures.js';
import { Problem } from '../parts/problem.js';
import { Worst } from '../parts/worst.js';
import { linkTo } from '../route.js';

/** @param section where to begin, by its id; from the top where there is none */
export function FidelityPage({ path, section }: { path: string; section: string | null }) {
  const { data, error } = useAsked<ShownReport>(withQuery('/web/api/fidelity', { path }));
  useEffect(() => {
    if (data !== undefined && section !== null) showSection(section);
  }, [data, section]);
  if (data === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  const names = data.subjects.map(({ name }) => name);
  return (
    <>
      <p class="way">
        <a href={linkTo('reports')}>Reports</a> › {path}{' '}
        <a
          href={withQuery('/web/api/report', { path: path.replace(/json$/, 'html') })}
          target="_blank"
          rel="noreferrer"
        >
          as a page of its own
        </a>
      </p>
      <header class="head">
        <h1>How far the dream of {data.scenario} is from the real</h1>
        <p class="line quiet">{truthText(data)}</p>
        {data.incomplete !== undefined && (
          <p class="line">
            <b>{data.incomplete}</b>
          </p>
        )}
      </header>
      <Trust report={data} />
      <Gates report={data} />
      <Contents groups={sectionGroups(data)} path={path} />
      <Measures rows={headlineRows(data).filter(({ name }) => !name.startsWith('horizon.'))} names={names} />
      {sectionGroups(data).map((group) => (
        <Aspect key={group.id} group={group} names={names} />
      ))}
      <section class="panel aspect" aria-label="Where this is from">
        <h2>Where this is from</h2>
        <Facts facts={factsOf(data)} />
      </section>
    </>
  );
}

/** The part of an address after the # says which page is shown, so sections are scrolled to by hand. */
function showSection(id: string): void {
  document.getElementById(`section-${id}`)?.scrollIntoView();
}

function Contents({ groups, path }: { groups: readonly SectionGroup[]; path: string }) {
  return (
    <ul class="contents" aria-label="Contents">
      {groups.map(({ id, title }) => (
        <li key={id}>
          <a href={linkTo('fidelity', { path, section: id })} onClick={() => showSection(id)}>
            {title}
          </a>
        </li>
      ))}
    </ul>
  );
}

function Trust({ report }: { report: ShownReport }) {
  const row = headlineRows(report).find(({ name }) => name.startsWith('horizon.'));
  return (
    <ul class="trust">
      {report.subjects.map(({ name, kind, version, sections }, i) => {
        const estimate = row?.estimates[i];
        const interval = row && estimate && intervalText(estimate, row.metric.unit);
        const said = sections.find(({ id }) => id === 'horizon')?.summary;
        return (
          <li key={name} style={{ borderColor: `var(--arm-${i % COLOURS})` }}>
            {name}
            <b>{row === undefined || estimate === undefined ? '–' : valueText(estimate.value, row.metric.unit)}</b>
            <small>{[row?.metric.label ?? 'Trust horizon', interval].filter(Boolean).join(', ')}</small>
            <p>{said ?? 'How far it can be trusted was not measured.'}</p>
            <small>
              {kind} <code>{version}</code>
            </small>
          </li>
        );
      })}
    </ul>
  );
}

function Gates({ report }: { report: ShownReport }) {
  const { gates } = report;
  if (gates.length === 0) return null;
  const units = new Map(
    sectionGroups(report).flatMap(({ rows }) => rows.map(({ name, metric }) => [name, metric.unit] as const)),
  );
  return (
    <ul class={`gates ${gates.every(({ passed }) => passed) ? '' : 'shut'}`} aria-label="Gates">
      {gates.map((gate, i) => (
        <li key={i}>
          <b class={gate.passed ? 'good' : 'bad'}>{gate.passed ? '✓ passed' : '✗ failed'}</b>{' '}
          {gateText(gate, units.get(gate.metric) ?? 'number')}
        </li>
      ))}
    </ul>
  );
}

function Aspect({ group, names }: { group: SectionGroup; names: readonly string[] }) {
  const said = new Set(group.parts.map(({ section }) => section.summary));
  return (
    <section id={`section-${group.id}`} class="panel aspect" aria-label={group.title}>
      <h2>{group.title}</h2>
      {said.size === 1 ? (
        <p>{[...said][0]}</p>
      ) : (
        group.parts.map(({ subject, section }) => (
          <p key={subject}>
            <Who name={names[subject]} place={subject} /> {section.summary}
          </p>
        ))
      )}
      <Measures rows={group.rows} names={names} />
      {figuresOf(group, names).map((figure) => (
        <FidelityFigure key={figure.title} figure={figure} names={names} />
      ))}
      {tablesOf(group, names).map((table) => (
        <Table key={table.title} table={table} />
      ))}
      {group.parts.map(({ subject, section }) => (
        <div key={subject}>
          {section.worst.length === 0 ? null : (
            <h3>What {names.length === 1 ? 'it' : names[subject]} got most wrong</h3>
          )}
          {section.worst.map((worst, i) => (
            <Worst key={i} worst={worst} />
          ))}
        </div>
      ))}
      {notesOf(group, names).map(({ text, of }) => (
        <p class="note" key={text}>
          {of.length === 0 || names.length === 1 ? '' : `${of.join(', ')}: `}
          {text}
        </p>
      ))}
    </section>
  );
}

function Table({ table: { title, columns, rows } }: { table: FidelityTable }) {
  return (
    <div class="figure">
      <h3>{title}</h3>
      <table class="cards">
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th key={i} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([label, ...cells], row) => (
            <tr key={row}>
              <th scope="row">{label}</th>
              {cells.map((cell, i) => (
                <td key={i} data-label={columns[i + 1]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function factsOf({ truth, provenance }: ShownReport): [string, string][] {
  const told = Object.entries(provenance).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return [['truth', `${truth.kind}: ${truth.description}, version ${truth.version}`], ...told];
}
