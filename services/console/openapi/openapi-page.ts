import type { JsonObject } from '../../../contracts/json.ts'
import type { OpenApiDocument } from '../../http/openapi/openapi-document.ts'
import type { OpenApiOperation } from '../../http/openapi/operation.ts'
import { escapeHtml, trusted } from '../pages/html.ts'
import type { Page } from '../pages/layout.ts'
import { schemaLines } from './schema-lines.ts'

/** Text in which `words` between backticks are code. */
const prose = (text: string): string =>
  escapeHtml(text).replaceAll(/`([^`]+)`/g, (_all, code: string) => `<code>${code}</code>`)

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const cells = (row: readonly string[], tag: string) =>
    row.map((cell) => `<${tag}>${cell}</${tag.split(' ')[0]}>`).join('')
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('')
  // No landmark: there are hundreds, and none has a name of its own.
  return `<div class="scroll" tabindex="0"><table><thead><tr>${cells(head, 'th scope="col"')}</tr></thead><tbody>${body}</tbody></table></div>`
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
      const shown =
        example === undefined ? '' : `<pre tabindex="0">${escapeHtml(JSON.stringify(example, null, 2))}</pre>`
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
  return `<h4>Answers</h4>${table(['status', 'meaning'], rows)}${shapes.join('')}`
}

function parametersPart({ parameters }: OpenApiOperation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, description, schema, required }) => [
    code(name),
    `${escapeHtml(place)}${required === true ? '' : ' <span class="dim">optional</span>'}`,
    `${prose(description)} ${code(schemaLines(schema)[0]?.type ?? 'string')}`,
  ])
  return `<h4>Parameters</h4>${table(['name', 'in', 'meaning'], rows)}`
}

function bodyPart({ requestBody }: OpenApiOperation): string {
  if (requestBody === undefined) return ''
  const { content } = requestBody as unknown as { content: Content }
  return `<h4>Body</h4>${contentPart(content, 'The body')}`
}

const keyPart = ({ security }: OpenApiOperation): string => {
  if (security.length === 0) return ''
  if (security.some((one) => 'operator' in one)) return '<p>Needs the token of the operator.</p>'
  const isOptional = security.some((one) => Object.keys(one).length === 0)
  return `<p>${isOptional ? 'Takes' : 'Needs'} an API key: <code>Authorization: Bearer sk_live_…</code></p>`
}

const operationPart = (path: string, method: string, operation: OpenApiOperation): string =>
  `<article class="operation" id="${escapeHtml(operation.operationId)}">
<h3><span class="method">${escapeHtml(method.toUpperCase())}</span> <code>${escapeHtml(path)}</code></h3>
<p>${prose(operation.summary)}.</p>
${operation.description === `${operation.summary}.` ? '' : `<p>${prose(operation.description)}</p>`}
${keyPart(operation)}${parametersPart(operation)}${bodyPart(operation)}${answersPart(operation)}
</article>`

/** The description of the service for people: plain HTML, drawn here, without anything from elsewhere. */
export function openApiPage({ info, servers, tags, paths }: OpenApiDocument): Page {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const groups = tags
    .map(({ name, description }) => ({
      name,
      description: escapeHtml(description),
      own: operations.filter(({ operation }) => operation.tags.includes(name)),
    }))
    .filter(({ own }) => own.length > 0)
  const contents = groups.map(({ name, description, own }) => {
    const items = own.map(
      ({ path, method, operation }) =>
        `<li><a href="#${escapeHtml(operation.operationId)}"><b>${escapeHtml(method.toUpperCase())}</b> ${escapeHtml(path)}</a></li>`,
    )
    return `<details><summary>${description} <span class="dim">${own.length}</span></summary><ul class="columns" id="list-${escapeHtml(name)}">${items.join('')}</ul></details>`
  })
  const bodies = groups.map(
    ({ description, own }) =>
      `<h2>${description}</h2>\n${own.map(({ path, method, operation }) => operationPart(path, method, operation)).join('\n')}`,
  )
  return {
    title: `${info.title} ${info.version}`,
    description: info.description,
    at: '/docs',
    body: trusted(`<h1>${escapeHtml(info.title)} ${escapeHtml(info.version)}</h1>
<p class="lead">${escapeHtml(info.description)}</p>
<p class="dim">At ${escapeHtml(servers.map(({ url }) => url).join(', '))}. For programs: <a href="/openapi.json">openapi.json</a>, OpenAPI 3.1. How to begin: <a href="/docs/api">documentation</a>.</p>
<section aria-label="Contents">${contents.join('\n')}</section>
${bodies.join('\n')}`),
  }
}
