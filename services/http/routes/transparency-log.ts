import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Verification } from '../../../contracts/answers/verification.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { createLogViews } from '../../proof/index.ts'
import { bodyOf, operation } from '../openapi.ts'
import { signalOfLeaving } from '../request-signal.ts'
import { FOR_EVER, OPEN } from '../send-public.ts'

export interface TransparencyLogRoutesOptions {
  readonly transparencyLog: ReturnType<typeof createLogViews>
  readonly verify: (verdictId: string, signal: AbortSignal) => Promise<Verification>
}

const TEXT = 'text/plain; charset=utf-8'
const INDEX = 'Index in groups of three digits, all but the last with an x in front; `.p/<width>` for a part'
const params = z.object({ '*': z.string().max(100).describe(INDEX) })

const tile = {
  ...operation('proof', 'logTile', 'Hashes of the tree, or its entries, in the layout of C2SP tlog-tiles'),
  description:
    '`/log/tile/<level>/<index>` for hashes, `/log/tile/entries/<index>` for entries. They never change.',
  params,
  response: bodyOf({ 'application/octet-stream': z.string() }, 'Hashes or entries'),
}
const contents = {
  ...operation('proof', 'logContents', 'The events that the entries of a tile commit to'),
  description:
    'A line for each entry; `null` for a verdict whose window is open. Each line hashes to its entry.',
  params,
  response: bodyOf({ 'application/x-ndjson': z.string() }, 'Events as JSON'),
}
const proof = {
  ...operation('proof', 'logProof', 'A proof file for a verdict or its outcome'),
  description: '`signal verify --proof` checks it offline.',
  params: z.strictObject({ verdict_id: z.uuid().describe('The `verdict_id` of an answer or a row') }),
  querystring: z.strictObject({
    of: z.enum(['verdict', 'outcome']).default('verdict').describe('The verdict itself, or its outcome'),
  }),
  response: bodyOf({ 'text/plain': z.string() }, 'A C2SP tlog-proof'),
}

/** `/log/…`: checkpoints, tiles and what they commit to (C2SP tlog-tiles), and proof files. */
export const transparencyLogRoutes: FastifyPluginAsyncZod<TransparencyLogRoutesOptions> = async (
  app,
  { transparencyLog: log, verify },
) => {
  app.addHook('onRequest', async (_request, reply) => void reply.headers(OPEN))
  const serveText = (url: string, id: string, summary: string, read: () => string) => {
    const schema = { ...operation('proof', id, summary), response: bodyOf({ 'text/plain': z.string() }) }
    app.get(url, { schema }, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=2').type(TEXT).send(read()),
    )
  }
  serveText('/log/checkpoint', 'logCheckpoint', 'The newest signed checkpoint (C2SP)', () => log.checkpoint())
  serveText('/log/vkeys', 'logKeys', 'The verifier keys of the log (C2SP), oldest first', () => log.vkeys())
  app.get('/log/tile/*', { schema: tile }, async (request, reply) => {
    const bytes = log.tile(`tile/${request.params['*']}`)
    return reply.header('cache-control', FOR_EVER).type('application/octet-stream').send(bytes)
  })
  app.get('/log/contents/*', { schema: contents }, async (request, reply) => {
    const { text, isWhole } = await log.contents(`contents/${request.params['*']}`, signalOfLeaving(reply))
    reply.header('cache-control', isWhole ? FOR_EVER : 'no-store')
    return reply.type('application/x-ndjson; charset=utf-8').send(text)
  })
  app.get(
    '/log/proof/:verdict_id',
    { schema: proof },
    async ({ params: { verdict_id: id }, query }, reply) => {
      const signal = signalOfLeaving(reply)
      const verification = await verify(id.toLowerCase(), signal)
      const event = query.of === 'verdict' ? verification.event : verification.outcome?.event
      if (event === undefined)
        throw new ServiceError('not_found', {
          message: 'The verdict has no outcome yet: its window is open.',
        })
      reply.header('cache-control', 'no-store')
      reply.header('content-disposition', `attachment; filename="${event.id}.tlog-proof"`)
      return reply.type(TEXT).send(await log.proof(event, signal))
    },
  )
}
