import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { verdictRow } from '../../../contracts/verdict-row.ts'
import {
  type Verification,
  type VerificationAnswer,
  verificationAnswerSchema,
} from '../../../contracts/verification.ts'
import { acceptsHtmlFirst } from '../../http/accept-header.ts'
import { operationsOf } from '../../http/openapi/operation.ts'
import { signalOfLeaving } from '../../http/waits.ts'
import type { PageFrame } from '../layout.ts'
import { sendPage } from '../send-page.ts'
import { verificationPage } from './verification-page.ts'

export interface VerifyRoutesOptions {
  readonly market: MarketKind
  /** @throws ServiceError `verdict_unknown` */
  readonly verify: (verdictId: string, signal: AbortSignal) => Promise<Verification>
}

const schema = {
  operation: operationsOf({ tag: 'verdicts' })(
    'verifyVerdict',
    'A verdict as it was recorded, with its hash and its outcome',
    {
      description: 'JSON, or a page for those who prefer one. Open to every holder of the id.',
      errors: ['verdict_unknown', 'store_unavailable'],
      answers: {
        200: {
          description: 'What the log says of it',
          content: { 'application/json': verificationAnswerSchema, 'text/html': undefined },
        },
      },
    },
  ),
  params: z.strictObject({ verdict_id: z.uuid().describe('The `verdict_id` of an answer or a row') }),
  querystring: z.object({
    format: z
      .enum(['html', 'json'])
      .optional()
      .describe('Form of the answer; without it the Accept header decides'),
  }),
  // A page is text already; what is sent as JSON is checked.
  response: { 200: z.union([verificationAnswerSchema, z.string()]) },
}

/**
 * `GET /verify/:verdict_id`: the verdict as it was recorded, with its hash, and what became of it. JSON, or a page
 * for those who prefer one. Open to every holder of the id, which cannot be guessed.
 */
export const verifyRoutes: FastifyPluginAsyncZod<
  VerifyRoutesOptions & { readonly frame: () => PageFrame }
> = async (app, options) => {
  app.get('/verify/:verdict_id', { schema }, async (request, reply) => {
    const id = request.params.verdict_id.toLowerCase()
    const verification = await options.verify(id, signalOfLeaving(reply))
    const answer = answerOf(verification, options.market)
    const { format } = request.query
    const isPage = format === undefined ? acceptsHtmlFirst(request.headers.accept) : format === 'html'
    // With its outcome there is nothing left that could change.
    const isFinal = verification.outcome !== null
    reply.header('cache-control', isFinal ? 'public, max-age=31536000, immutable' : 'no-store')
    reply.header('vary', 'accept')
    if (!isPage) return answer
    const hasLog = app.hasRoute({ method: 'GET', url: '/log/proof/:verdict_id' })
    return sendPage(reply, options.frame(), verificationPage(answer, hasLog))
  })
}

/** The log holds nothing else under these events. */
function answerOf(verification: Verification, market: MarketKind): VerificationAnswer {
  const { event, outcome } = verification
  const labelled = outcome === null ? null : (outcome.event.data as unknown as Outcome)
  const { cursor: _cursor, ...verdict } = verdictRow(event.data as unknown as Verdict, '', event.at, labelled)
  return { ...verification, market, verdict }
}
