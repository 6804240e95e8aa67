// GET /docs: the OpenAPI document as a page to read: one file, no script, nothing fetched from elsewhere.

import type { Content, OpenApiDocument, Operation, Parameter } from './openapi.js';

type Schema = Readonly<Record<string, unknown>>;

const STYLE = `
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1.5rem;color:#1c2128;background:#fff}
h1{margin-bottom:0}h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}h3{margin:2rem 0 .25rem;font-size:1rem}
code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:#f3f5f7;padding:.75rem;overflow-x:auto;border-radius:6px}
table{border-collapse:collapse;width:100%;margin:.5rem 0}td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-top:1px solid #e5e9ee}
th{font-weight:600}.method{display:inline-block;min-width:4.2em;font-weight:700;color:#0b5cad}nav a{display:inline-block;margin-right:1rem}
td:first-child{white-space:nowrap}
@media(prefers-color-scheme:dark){body{color:#d5dbe3;background:#14171b}pre{background:#1e2329}h2,td,th{border-color:#30363d}.method,a{color:#7ab7ff}}
`;

/** @param base  where the server is reached, for the examples: `http://host:port` */
export function docsPage(document: OpenApiDocument, base: string): string {
  const { info, tags, components } = document;
  const sections = tags.map(({ name }) => sectionOf(document, name, base)).join('');
  const named = Object.entries(components.schemas).map(([name, schema]) => {
    return `<h3 id="${anchor(name)}">${escaped(name)}</h3>${schemaTable(schema)}`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)} API</title><style>${STYLE}</style></head><body>
<h1>${escaped(info.title)} API</h1><p>Version ${escaped(info.version)} · <a href="/openapi.json">openapi.json</a></p>
<p>${prose(info.description)}</p>
<nav>${[...tags.map(({ name }) => name), 'Schemas'].map((name) => `<a href="#${anchor(name)}">${escaped(name)}</a>`).join('')}</nav>
${sections}<h2 id="schemas">Schemas</h2>${named.join('')}</body></html>`;
}

function sectionOf({ paths }: OpenApiDocument, tag: string, base: string): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags[0] === tag)
      .map(([method, operation]) => operationHtml(method, path, operation, base)),
  );
  return `<h2 id="${anchor(tag)}">${escaped(tag)}</h2>${operations.join('')}`;
}

function operationHtml(method: string, path: string, operation: Operation, base: string): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const parts = [
    `<h3 id="${operationId}"><span class="method">${method.toUpperCase()}</span> <code>${escaped(path)}</code></h3>`,
    `<p>${prose(summary)}. ${prose(description ?? '')}</p>`,
    parametersTable(parameters ?? []),
    requestBody === undefined ? '' : contentHtml('Body', requestBody.content),
    `<pre>${escaped(curl(method, path, operation, base))}</pre>`,
    ...Object.entries(responses).map(([status, answer]) => {
      const { description: what, content } = answer as { description: string; content?: Content };
      return status === 'default'
        ? ''
        : `<p>Answers <b>${status}</b>: ${prose(what)}</p>${contentHtml('', content ?? {})}`;
    }),
  ];
  return parts.join('\n');
}

function curl(method: string, path: string, { requestBody }: Operation, base: string): string {
  const example = requestBody?.content['application/json']?.example;
  const verb = method === 'get' || (method === 'post' && example !== undefined) ? '' : ` -X ${method.toUpperCase()}`;
  const data =
    example === undefined ? '' : ` \\\n  -H 'content-type: application/json' -d '${JSON.stringify(example)}'`;
  return `curl${verb} ${base}${path}${data}`;
}

function parametersTable(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return '';
  const rows = parameters.map(({ name, in: where, description, schema }) => {
    return `<tr><td><code>${escaped(name)}</code></td><td>${where}, ${typeHtml(schema)}</td><td>${prose(description ?? '')}</td></tr>`;
  });
  return `<table>${rows.join('')}</table>`;
}

function contentHtml(title: string, content: Content): string {
  const parts = Object.entries(content).map(([type, { schema = {} }]) => {
    const heading = `<p>${title} <code>${escaped(type)}</code>`;
    if (schema['$ref'] !== undefined) return `${heading}: ${typeHtml(schema)}</p>`;
    return schema['properties'] === undefined
      ? `${heading}: ${prose(String(schema['description'] ?? ''))}</p>`
      : `${heading}</p>${schemaTable(schema)}`;
  });
  return parts.join('');
}

function schemaTable(schema: Schema): string {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
  const required = new Set((schema['required'] ?? []) as string[]);
  const rows = properties.map(([name, one]) => {
    const must = required.has(name) ? '' : ', optional';
    return `<tr><td><code>${escaped(name)}</code></td><td>${typeHtml(one)}${must}</td><td>${prose(String(one['description'] ?? ''))}</td></tr>`;
  });
  return `<table>${rows.join('')}</table>`;
}

/** In a few words; named schemas as links. */
function typeHtml(schema: Schema): string {
  const { $ref, type, anyOf, oneOf, items, enum: values } = schema as Record<string, never>;
  if ($ref !== undefined) {
    const name = String($ref).split('/').at(-1)!;
    return `<a href="#${anchor(name)}">${escaped(name)}</a>`;
  }
  if (values !== undefined) return (values as unknown[]).map((value) => escaped(JSON.stringify(value))).join(' or ');
  const either = (anyOf ?? oneOf) as Schema[] | undefined;
  if (either !== undefined) return either.map(typeHtml).join(' or ');
  if (type === 'array') return `list of ${typeHtml(items ?? {})}`;
  if (type === undefined) return 'const' in schema ? escaped(JSON.stringify(schema['const'])) : 'any';
  return escaped([type].flat().join(' or '));
}

/** Escaped; what stands in backticks as code. */
function prose(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

function anchor(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}
