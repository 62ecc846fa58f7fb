import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { atAddress } from '../../../contracts/documented-address.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { acceptsHtmlFirst } from '../../http/accept-header.ts'
import { etagOf, isNoneMatch } from '../../http/etag.ts'
import { anyObject, bodyOfType, operationsOf, revalidated } from '../../http/openapi/operation.ts'
import { sendPublic } from '../../http/send-public.ts'
import { eventSchema, type Knowledge } from '../../knowledge/index.ts'
import { escapeHtml } from '../html.ts'
import { type PageFrame, page as wholePage } from '../layout.ts'
import { sendText } from '../send-page.ts'
import { docsIndexPage, docsPage } from './docs-page.ts'

export interface DocsRoutesOptions {
  readonly knowledge: Pick<Knowledge, 'pages' | 'page'>
  /** Programs that the documentation shows, by name, as they lie in `docs/examples`. */
  readonly examples?: ReadonlyMap<string, string>
  /** The address under which callers reach the service, which examples name; empty while it is not known. */
  readonly publicUrl?: () => string
  readonly frame: () => PageFrame
}

const describe = operationsOf({ tag: 'knowledge' })
const index = {
  operation: describe(
    'docs',
    'The pages of the documentation',
    revalidated('A page without scripts', 'text/html'),
  ),
}

/** Only what was read into memory is looked up, so a name leads to no file. */
const one = {
  operation: describe('docsPage', 'One page of the documentation, with an anchor for every section', {
    errors: ['not_found'],
    ...revalidated('A page without scripts', 'text/html'),
  }),
  params: z.strictObject({ page: z.string().max(64).describe('Name of the page, as in `quotas`') }),
}

/** Names of files, so that one leads to no other. */
const fileName = z.string().max(64)
const example = {
  operation: describe('docsExample', 'A program that the documentation shows', {
    errors: ['not_found'],
    answers: bodyOfType('The program', 'text/plain'),
  }),
  params: z.strictObject({ file: fileName.describe('Name of the file, as in `bot.py`') }),
}
const event = {
  operation: describe('eventSchema', 'The JSON Schema of one event of the log', {
    errors: ['not_found'],
    ...revalidated('The schema of its `data`', 'application/schema+json', anyObject),
  }),
  params: z.strictObject({ file: fileName.describe('Type of the event, as in `VerdictRecorded.json`') }),
}

/**
 * `GET /docs` and `GET /docs/:page`: the documentation as pages, with an anchor for every section, and the files that
 * pages link to. Open to all.
 */
export const docsRoutes: FastifyPluginAsyncZod<DocsRoutesOptions> = async (app, options) => {
  const { knowledge, examples = new Map(), publicUrl = () => '', frame } = options
  app.get('/docs', { schema: index }, async (request, reply) =>
    sendPage(request, reply, wholePage(frame(), docsIndexPage(await knowledge.pages()))),
  )
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
    if (request.params.page.endsWith('.md') && !acceptsHtmlFirst(request.headers.accept)) {
      return sendPublic(request, reply, 'text/markdown; charset=utf-8', atAddress(page.markdown, publicUrl()))
    }
    const names = (await knowledge.pages()).map(({ name: other }) => other)
    return sendPage(
      request,
      reply,
      atAddress(wholePage(frame(), docsPage(page, names)), escapeHtml(publicUrl())),
    )
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

function sendPage(request: FastifyRequest, reply: FastifyReply, html: string): FastifyReply {
  const etag = etagOf(html)
  reply.headers({ 'cache-control': 'public, max-age=300', etag })
  if (isNoneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send()
  return sendText(reply, html)
}
