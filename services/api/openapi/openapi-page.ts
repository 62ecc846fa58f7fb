import type { JsonObject } from '../../../contracts/json.ts'
import { escapeHtml } from '../pages/html.ts'
import { PAGE_STYLE, stylePolicy } from '../pages/page.ts'
import type { OpenApiDocument } from './openapi-document.ts'
import type { OpenApiOperation } from './operation.ts'
import { schemaLines } from './schema-lines.ts'

const STYLE = `${PAGE_STYLE}
body { max-width: 60rem } nav ul { columns: 2; padding-left: 1rem } nav li { break-inside: avoid }
article { border-top: 2px solid var(--line); margin-top: 2.5rem; padding-top: .5rem }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem } .method { font-weight: 700 } details { margin: .5rem 0 } summary { cursor: pointer }
td:first-child { white-space: nowrap; width: 1% } .scroll { overflow-x: auto }`

/** Admits the style of the page by its hash, and nothing else. */
export const OPENAPI_PAGE_POLICY = stylePolicy(STYLE)

/** Text in which `words` between backticks are code. */
const prose = (text: string): string =>
  escapeHtml(text).replaceAll(/`([^`]+)`/g, (_all, code: string) => `<code>${code}</code>`)

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const cells = (row: readonly string[], tag: string) =>
    row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('')
  return `<div class="scroll"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body}</tbody></table></div>`
}

const code = (text: string): string => `<code>${escapeHtml(text)}</code>`

/** The fields of a schema, one in a row. */
function fields(schema: JsonObject, title: string): string {
  const lines = schemaLines(schema)
  if (lines.length === 0) return ''
  const rows = lines.map(({ path, type, isRequired, description }) => [
    code(path === '' ? '(whole)' : path),
    `${code(type)}${isRequired ? '' : ' <span class="dim">optional</span>'}`,
    prose(description),
  ])
  return `<details><summary>${escapeHtml(title)}</summary>${table(['field', 'type', 'meaning'], rows)}</details>`
}

type Content = Readonly<Record<string, { readonly schema?: JsonObject; readonly example?: unknown }>>

const contentPart = (content: Content | undefined, what: string): string =>
  Object.entries(content ?? {})
    .map(([type, { schema, example }]) => {
      const shown = example === undefined ? '' : `<pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre>`
      return `${shown}${schema === undefined ? '' : fields(schema, `${what} as ${type}`)}`
    })
    .join('')

function answersPart({ responses }: OpenApiOperation): string {
  const rows = Object.entries(responses).map(([status, { description }]) => [
    escapeHtml(status),
    prose(description),
  ])
  const shapes = Object.entries(responses)
    .filter(([status]) => status < '400')
    .map(([status, { content }]) => contentPart(content as Content | undefined, `The answer with ${status},`))
  return `<h3>Answers</h3>${table(['status', 'meaning'], rows)}${shapes.join('')}`
}

function parametersPart({ parameters }: OpenApiOperation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, description, schema, required }) => [
    code(name),
    `${escapeHtml(place)}${required === true ? '' : ' <span class="dim">optional</span>'}`,
    `${prose(description)} ${code(schemaLines(schema)[0]?.type ?? 'string')}`,
  ])
  return `<h3>Parameters</h3>${table(['name', 'in', 'meaning'], rows)}`
}

function bodyPart({ requestBody }: OpenApiOperation): string {
  if (requestBody === undefined) return ''
  const { content } = requestBody as unknown as { content: Content }
  return `<h3>Body</h3>${contentPart(content, 'The body')}`
}

const keyPart = ({ security }: OpenApiOperation): string => {
  if (security.length === 0) return ''
  if (security.some((one) => 'operator' in one)) return '<p>Needs the token of the operator.</p>'
  const isOptional = security.some((one) => Object.keys(one).length === 0)
  return `<p>${isOptional ? 'Takes' : 'Needs'} an API key: <code>Authorization: Bearer sk_live_…</code></p>`
}

const operationPart = (path: string, method: string, operation: OpenApiOperation): string =>
  `<article id="${escapeHtml(operation.operationId)}">
<h2><span class="method">${escapeHtml(method.toUpperCase())}</span> <code>${escapeHtml(path)}</code></h2>
<p>${prose(operation.summary)}.</p>
${operation.description === `${operation.summary}.` ? '' : `<p>${prose(operation.description)}</p>`}
${keyPart(operation)}${parametersPart(operation)}${bodyPart(operation)}${answersPart(operation)}
</article>`

/** The description of the service for people: plain HTML, drawn here, without scripts and without anything from elsewhere. */
export function openApiPage({ info, servers, tags, paths }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const groups = tags.map(({ name, description }) => {
    const items = operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map(
        ({ path, method, operation }) =>
          `<li><a href="#${escapeHtml(operation.operationId)}">${escapeHtml(`${method.toUpperCase()} ${path}`)}</a></li>`,
      )
    return items.length === 0 ? '' : `<p>${escapeHtml(description)}</p><ul>${items.join('')}</ul>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(info.title)} ${escapeHtml(info.version)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(info.title)} ${escapeHtml(info.version)}</h1>
<p>${escapeHtml(info.description)}</p>
<p class="dim">At ${escapeHtml(servers.map(({ url }) => url).join(', '))}. For programs: <a href="/openapi.json">openapi.json</a>, OpenAPI 3.1.</p>
<nav>${groups.join('')}</nav>
${operations.map(({ path, method, operation }) => operationPart(path, method, operation)).join('\n')}
</main>
</body>
</html>
`
}
