import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { marked, Renderer, type Tokens } from 'marked'
import { z } from 'zod'
import type { SearchAnswer } from '../../../contracts/answers/knowledge.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { atAddress } from '../../../contracts/infra/documented-address.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { acceptsHtmlFirst } from '../../http/accept.ts'
import { bodyOf, operation } from '../../http/openapi.ts'
import { sendPublic } from '../../http/send-public.ts'
import { type DocPage, type Knowledge, pagesByReader, plainText } from '../../knowledge/index.ts'
import { escapeHtml, type Html, html, trusted } from '../html.ts'
import { type Page, type PageFrame, page, sendPublicPage } from '../layout.ts'

export interface DocsRoutesOptions {
  readonly knowledge: Pick<Knowledge, 'pages' | 'page' | 'search'>
  /** Programs that the documentation shows, by their name in `docs/examples`. */
  readonly examples?: ReadonlyMap<string, string>
  readonly frame: () => PageFrame
}

/** Sections that a search lists. */
const FOUND = 12
const response = bodyOf({ 'text/html': z.string() }, 'A page that needs no scripts')
/** Names are looked up in memory only, so no name leads to a file. */
const shortName = z.string().max(64)
const query = z.string().trim().max(LIMITS.searchCharacters).optional()
const index = {
  ...operation('knowledge', 'docs', 'The pages of the documentation, or its sections that match a query'),
  querystring: z.object({ q: query.describe('Words to search for; without them all pages are listed') }),
  response,
}
const one = {
  ...operation('knowledge', 'docsPage', 'One page of the documentation, with an anchor for every section'),
  params: z.strictObject({ page: shortName.describe('Name of the page, as in `quotas`') }),
  response,
}
const example = {
  ...operation('knowledge', 'docsExample', 'A program that the documentation shows'),
  params: z.strictObject({ file: shortName.describe('Name of the file, as in `bot.py`') }),
  response: bodyOf({ 'text/plain': z.string() }, 'The program'),
}
const notFound = (message: string): never => {
  throw new ServiceError('not_found', { message })
}

/** `GET /docs` and `GET /docs/:page`: the documentation, with an anchor per section, and the files that it links to. */
export const docsRoutes: FastifyPluginAsyncZod<DocsRoutesOptions> = async (app, options) => {
  const { knowledge, examples = new Map(), frame } = options
  const cached = (reply: FastifyReply): FastifyReply => reply.header('cache-control', 'public, max-age=300')
  const send = (request: FastifyRequest, reply: FastifyReply, made: Page): FastifyReply =>
    sendPublicPage(request, cached(reply), atAddress(page(frame(), made), escapeHtml(frame().publicUrl)))

  app.get('/docs', { schema: index }, async (request, reply) => {
    const { q = '' } = request.query
    if (q === '') return send(request, reply, docsIndexPage(await knowledge.pages()))
    return send(request, reply, foundPage(q, await knowledge.search({ query: q, limit: FOUND })))
  })
  app.get('/docs/:page', { schema: one }, async (request, reply) => {
    // Pages link to one another by file name.
    const name = request.params.page.replace(/\.md$/, '')
    const found = (await knowledge.page(name)) ?? notFound('No page has this name; GET /docs lists them.')
    // Programs read the Markdown; browsers get the page.
    const isMarkdown = request.params.page.endsWith('.md') && !acceptsHtmlFirst(request)
    const markdown = atAddress(found.markdown, frame().publicUrl)
    if (isMarkdown) return sendPublic(request, reply, 'text/markdown; charset=utf-8', markdown)
    const all = pagesByReader(await knowledge.pages()).flatMap(({ pages }) => pages)
    return send(request, reply, docsPage(found, all))
  })
  app.get('/docs/examples/:file', { schema: example }, async (request, reply) => {
    const text =
      examples.get(request.params.file) ?? notFound(`The examples are ${[...examples.keys()].join(', ')}.`)
    return cached(reply).type('text/plain; charset=utf-8').send(atAddress(text, frame().publicUrl))
  })
}

const HOME = html`<p class="dim"><a href="/docs">Documentation</a></p>`

/** A page of the documentation. @param all pages in reading order, which links may lead to */
function docsPage({ name, title, blocks, markdown }: DocPage, all: readonly DocPage[]): Page {
  const names = all.map((each) => each.name)
  const next = all[names.indexOf(name) + 1]
  const headings = blocks.filter((block) => block.kind === 'heading')
  const sections = headings.filter(({ level }) => level === 2)
  const list = sections.map(({ anchor, text }) => html`<li><a href="#${anchor}">${plainText(text)}</a></li>`)
  const contents = html`<nav class="contents" aria-label="On this page"><ul>${list}</ul></nav>`
  const renderer = createRenderer(names, headings.map(({ anchor }) => anchor).values())
  const text = marked.parse(markdown, { async: false, renderer })
  // The contents follow the title.
  const withContents = text.replace('</h1>', (end) => (sections.length > 2 ? end + String(contents) : end))
  const body = html`${HOME}
${trusted(withContents)}
${next && html`<p class="row noprint">Next: <a href="/docs/${next.name}">${next.title}</a></p>`}`
  return { title: `${title} · Documentation`, at: '/docs', body }
}

/** Renders Markdown without any HTML of its author. Links lead to pages, programs and sites; others are plain text. */
const createRenderer = (names: readonly string[], anchors: Iterator<string>): Renderer =>
  new (class extends Renderer {
    override html = ({ text }: Tokens.HTML | Tokens.Tag): string =>
      escapeHtml(text.replaceAll(/<!--[\s\S]*?-->/g, ''))
    override image = ({ text }: Tokens.Image): string => escapeHtml(text)
    override code = ({ text }: Tokens.Code): string =>
      `<div class="copy"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>\n`
    override heading({ depth, text, tokens }: Tokens.Heading): string {
      const anchor = escapeHtml(anchors.next().value ?? '')
      const label =
        depth === 1 ? this.parser.parseInline(tokens) : linkHtml(`#${anchor}`, escapeHtml(plainText(text)))
      return `<h${depth} id="${anchor}">${label}</h${depth}>\n`
    }
    override table(token: Tokens.Table): string {
      return `<div class="scroll" tabindex="0">${super.table(token).replaceAll(/<th(?=[ >])/g, '<th scope="col"')}</div>`
    }
    override link({ href, raw, tokens }: Tokens.Link): string {
      if (!/^(?:\[|<https?:)/.test(raw)) return escapeHtml(raw)
      // A page is named by its file in the folder, and by its title here.
      const label = this.parser
        .parseInline(tokens)
        .replace(/^((?:<code>)?[a-z0-9-]+)\.md(?=(?:<\/code>)?$)/, '$1')
      if (/^(?:#|https?:\/\/)/.test(href)) return linkHtml(escapeHtml(href), label)
      const [, program, name = '', anchor = ''] =
        /^(?:\.\/)?(?:(examples\/[a-z0-9-]+\.(?:py|ts))|([a-z0-9-]+)\.md(#.*)?)$/.exec(href) ?? []
      if (program !== undefined) return linkHtml(`/docs/${program}`, label)
      return names.includes(name) ? linkHtml(escapeHtml(`/docs/${name}${anchor}`), label) : label
    }
  })()

/** @param target escaped already */
const linkHtml = (target: string, label: string): string => `<a href="${target}">${label}</a>`

/** All pages by reader, each with its first sentence. */
function docsIndexPage(pages: readonly DocPage[]): Page {
  const row = ({ name, title, blocks }: DocPage): Html => {
    const first = blocks.find((block) => block.kind === 'paragraph')
    const [about] = plainText(first?.text ?? '').split(/(?<=\.)\s/)
    return html`<li><a href="/docs/${name}">${title}</a> <span class="dim">${about}</span></li>\n`
  }
  const body = html`<h1>Documentation</h1>
${searchForm()}
<p class="dim">Information, not advice. Every operation with its fields is described at <a href="/openapi.json">/openapi.json</a>.</p>
${pagesByReader(pages).map(({ reader, pages: read }) => html`<h2>${reader}</h2>\n<ul>${read.map(row)}</ul>\n`)}`
  return { title: 'Documentation', at: '/docs', body }
}

/** Searches the documentation. */
export const searchForm = (typed = ''): Html =>
  html`<form class="row noprint" action="/docs" method="get" role="search"><div class="field"><label for="q">Search the documentation</label><input id="q" name="q" type="search" maxlength="${LIMITS.searchCharacters}" value="${typed}"></div><button type="submit">Search</button></form>`

/** Sections that match a query, the best first. */
function foundPage(typed: string, { results }: SearchAnswer): Page {
  const rows = results.map(
    ({ id, title, excerpt }) =>
      html`<li><a href="/docs/${id}">${title}</a><br><span class="dim">${excerpt}</span></li>`,
  )
  const body = html`${HOME}
<h1>${results.length === 0 ? 'Nothing was found' : 'Found in the documentation'}</h1>
${searchForm(typed)}
${rows.length === 0 ? html`<p>No section has these words. Try fewer or other words, or <a href="/docs">see all pages</a>.</p>` : html`<ol class="found">${rows}</ol>`}`
  return { title: `${typed} · Documentation`, at: '/docs', isPrivate: true, body }
}
