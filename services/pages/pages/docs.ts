import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { atAddress } from '../../../contracts/documented-address.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { SearchAnswer } from '../../../contracts/knowledge-answers.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { acceptsHtmlFirst } from '../../http/accept.ts'
import { anyObject, bodyOf, operation } from '../../http/openapi.ts'
import { sendPublic } from '../../http/send-public.ts'
import {
  type Block,
  type DocPage,
  eventSchema,
  type Knowledge,
  pagesByReader,
  plainText,
} from '../../knowledge/index.ts'
import { escapeHtml, html, trusted } from '../html.ts'
import { type Page, type PageFrame, page as wholePage } from '../layout.ts'
import { sendPublicPage } from '../send-page.ts'

export interface DocsRoutesOptions {
  readonly knowledge: Pick<Knowledge, 'pages' | 'page' | 'search'>
  /** Programs that the documentation shows, by name, as they lie in `docs/examples`. */
  readonly examples?: ReadonlyMap<string, string>
  /** The address under which callers reach the service, which examples name; empty while it is not known. */
  readonly publicUrl?: () => string
  readonly frame: () => PageFrame
}

/** Sections that a search lists. */
const FOUND = 12
const pageBody = bodyOf({ 'text/html': z.string() }, 'A page that needs no scripts')
/** Only what was read into memory is looked up, so a name leads to no file. */
const nameParameter = (description: string) => z.string().max(64).describe(description)
const index = {
  ...operation('knowledge', 'docs', 'The pages of the documentation, or its sections that match a query'),
  querystring: z.object({
    q: z
      .string()
      .trim()
      .max(LIMITS.searchCharacters)
      .optional()
      .describe('Words to search for; without them all pages are listed'),
  }),
  response: pageBody,
}
const one = {
  ...operation('knowledge', 'docsPage', 'One page of the documentation, with an anchor for every section'),
  params: z.strictObject({ page: nameParameter('Name of the page, as in `quotas`') }),
  response: pageBody,
}
const example = {
  ...operation('knowledge', 'docsExample', 'A program that the documentation shows'),
  params: z.strictObject({ file: nameParameter('Name of the file, as in `bot.py`') }),
  response: bodyOf({ 'text/plain': z.string() }, 'The program'),
}
const event = {
  ...operation('knowledge', 'eventSchema', 'The JSON Schema of one event of the log'),
  params: z.strictObject({ file: nameParameter('Type of the event, as in `VerdictRecorded.json`') }),
  response: bodyOf({ 'application/schema+json': anyObject }, 'The schema of its `data`'),
}

/**
 * `GET /docs` and `GET /docs/:page`: the documentation as pages, with an anchor for every section, and the files that
 * pages link to. Open to all.
 */
export const docsRoutes: FastifyPluginAsyncZod<DocsRoutesOptions> = async (app, options) => {
  const { knowledge, examples = new Map(), publicUrl = () => '', frame } = options
  const kept = (reply: FastifyReply): FastifyReply => reply.header('cache-control', 'public, max-age=300')

  app.get('/docs', { schema: index }, async (request, reply) => {
    const { q = '' } = request.query
    const found = q === '' ? undefined : await knowledge.search({ query: q, limit: FOUND })
    const shown = found === undefined ? docsIndexPage(await knowledge.pages()) : foundPage(q, found)
    return sendPublicPage(request, kept(reply), atAddress(wholePage(frame(), shown), escapeHtml(publicUrl())))
  })
  app.get('/docs/:page', { schema: one }, async (request, reply) => {
    // As they lie in the folder, which is how they link to one another.
    const name = request.params.page.replace(/\.md$/, '')
    const page = await knowledge.page(name)
    if (page === undefined) {
      throw new ServiceError('not_found', {
        message: `There is no page ${JSON.stringify(name.toWellFormed())} in the documentation; GET /docs lists them.`,
      })
    }
    // Programs read the page as it was written; browsers have it as they have all others.
    if (request.params.page.endsWith('.md') && !acceptsHtmlFirst(request)) {
      return sendPublic(request, reply, 'text/markdown; charset=utf-8', atAddress(page.markdown, publicUrl()))
    }
    const all = pagesByReader(await knowledge.pages()).flatMap(({ pages }) => pages)
    const made = wholePage(frame(), docsPage(page, all))
    return sendPublicPage(request, kept(reply), atAddress(made, escapeHtml(publicUrl())))
  })
  app.get('/docs/examples/:file', { schema: example }, async (request, reply) => {
    const text = examples.get(request.params.file)
    if (text === undefined) {
      throw new ServiceError('not_found', {
        message: `There is no example of this name; there are ${[...examples.keys()].join(', ')}.`,
      })
    }
    return reply
      .header('cache-control', 'public, max-age=300')
      .type('text/plain; charset=utf-8')
      .send(atAddress(text, publicUrl()))
  })
  app.get('/docs/events/:file', { schema: event }, async (request, reply) => {
    const schema = eventSchema(request.params.file.replace(/\.json$/, ''))
    if (schema === undefined) {
      throw new ServiceError('not_found', {
        message: 'There is no event of this name; GET /docs/events lists them.',
      })
    }
    const text = JSON.stringify(schema, null, 2)
    return sendPublic(request, reply, 'application/schema+json; charset=utf-8', text)
  })
}

/** A page of the documentation. @param all pages in their order, which links may lead to */
function docsPage(page: DocPage, all: readonly DocPage[]): Page {
  const names = all.map(({ name }) => name)
  const next = all[names.indexOf(page.name) + 1]
  const sections = page.blocks.filter((block) => block.kind === 'heading' && block.level === 2)
  const contents = sections.flatMap((block) =>
    block.kind === 'heading'
      ? [`<li>${link(`#${block.anchor}`, escapeHtml(plainText(block.text)))}</li>`]
      : [],
  )
  const body = page.blocks.map((block) => blockHtml(block, names))
  // Behind the title, which is the first block.
  if (contents.length > 2)
    body.splice(1, 0, `<nav class="contents" aria-label="On this page"><ul>${contents.join('')}</ul></nav>`)
  const onward =
    next && `<p class="row noprint">Next: ${link(`/docs/${next.name}`, escapeHtml(next.title))}</p>`
  return htmlPage(
    `${page.title} · Documentation`,
    `<p class="dim">${link('/docs', 'Documentation')}</p>\n${body.join('\n')}\n${onward ?? ''}`,
  )
}

/** The list of all pages by their readers, each with the sentence that it begins with. */
function docsIndexPage(pages: readonly DocPage[]): Page {
  const row = ({ name, title, blocks }: DocPage): string => {
    const first = blocks.find((block) => block.kind === 'paragraph')
    const about = first === undefined ? '' : (plainText(first.text).split(/(?<=\.)\s/)[0] ?? '')
    return `<li>${link(`/docs/${name}`, escapeHtml(title))} <span class="dim">${escapeHtml(about)}</span></li>`
  }
  const groups = pagesByReader(pages).map(
    ({ reader, pages: read }) => `<h2>${escapeHtml(reader)}</h2>\n<ul>${read.map(row).join('\n')}</ul>`,
  )
  return htmlPage(
    'Documentation',
    `<h1>Documentation</h1>\n${searchForm()}\n<p class="dim">Information, not advice. Every operation with its fields is described at ${link('/openapi.json', '/openapi.json')}.</p>\n${groups.join('\n')}`,
  )
}

const searchForm = (query = ''): string =>
  String(
    html`<form class="row noprint" action="/docs" method="get" role="search"><div class="field"><label for="q">Search the documentation</label><input id="q" name="q" type="search" maxlength="${LIMITS.searchCharacters}" value="${query}"></div><button type="submit">Search</button></form>`,
  )

/** Sections that fit a question, the best first. */
function foundPage(query: string, { results }: SearchAnswer): Page {
  const rows = results.map(
    ({ id, title, excerpt }) =>
      html`<li><a href="/docs/${id}">${title}</a><br><span class="dim">${excerpt}</span></li>`,
  )
  const body = html`<p class="dim"><a href="/docs">Documentation</a></p>
<h1>${results.length === 0 ? 'Nothing was found' : 'Found in the documentation'}</h1>
${trusted(searchForm(query))}
${rows.length === 0 ? html`<p>No section has these words. Try fewer or other words, or <a href="/docs">see all pages</a>.</p>` : html`<ol class="found">${rows}</ol>`}`
  return { title: `${query} · Documentation`, at: '/docs', isPrivate: true, body }
}

const htmlPage = (title: string, body: string): Page => ({ title, at: '/docs', body: trusted(body) })

function blockHtml(block: Block, names: readonly string[]): string {
  const inline = (text: string): string => inlineHtml(text, names)
  if (block.kind === 'paragraph') return `<p>${inline(block.text)}</p>`
  if (block.kind === 'code')
    return `<div class="copy"><pre tabindex="0"><code>${escapeHtml(block.text)}</code></pre></div>`
  if (block.kind === 'list') {
    const items = block.items.map((item) => `<li>${inline(item)}</li>`).join('\n')
    return block.isOrdered ? `<ol>${items}</ol>` : `<ul>${items}</ul>`
  }
  if (block.kind === 'heading') {
    const { anchor, level, text } = block
    const inside = level === 1 ? inline(text) : link(`#${anchor}`, escapeHtml(plainText(text)))
    return `<h${level} id="${escapeHtml(anchor)}">${inside}</h${level}>`
  }
  const head = block.header.map((cell) => `<th scope="col">${inline(cell)}</th>`).join('')
  const rows = block.rows.map(
    (cells) => `<tr>${cells.map((cell) => `<td>${inline(cell)}</td>`).join('')}</tr>`,
  )
  return `<div class="scroll" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
}

/** Code, links, bold text and emphasis, in this order: what is code is nothing else. */
const INLINE = /`([^`]+)`|\[([^\]\n]*)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|(?<![\w*])\*([^\s*][^*\n]*)\*(?![\w*])/g

function inlineHtml(text: string, names: readonly string[]): string {
  let made = ''
  let at = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, label, target, bold, emphasis] = match
    made += escapeHtml(text.slice(at, match.index))
    if (code !== undefined) made += `<code>${escapeHtml(code)}</code>`
    else if (bold !== undefined) made += `<strong>${inlineHtml(bold, names)}</strong>`
    else if (emphasis !== undefined) made += `<em>${inlineHtml(emphasis, names)}</em>`
    else made += linkHtml(label ?? '', target ?? '', names)
    at = match.index + whole.length
  }
  return made + escapeHtml(text.slice(at))
}

/** A link to a page, a place on this page or an address elsewhere; what leads nowhere here stays as its text. */
function linkHtml(label: string, target: string, names: readonly string[]): string {
  // In a folder pages are named as files are; here they are no files.
  const text = inlineCode(label.replace(/^(`?[a-z0-9-]+)\.md(?=`?$)/, '$1'))
  if (target.startsWith('#') || /^https?:\/\//.test(target)) return link(target, text)
  const [, name, anchor = ''] = /^(?:\.\/)?([a-z0-9-]+)\.md(#.*)?$/.exec(target) ?? []
  const [, program] = /^(?:\.\/)?(examples\/[a-z0-9-]+\.(?:py|ts))$/.exec(target) ?? []
  if (program !== undefined) return link(`/docs/${program}`, text)
  return name !== undefined && names.includes(name) ? link(`/docs/${name}${anchor}`, text) : text
}

const inlineCode = (label: string): string => escapeHtml(label).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

const link = (target: string, markup: string): string => `<a href="${escapeHtml(target)}">${markup}</a>`
