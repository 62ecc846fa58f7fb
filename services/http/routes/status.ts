import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Origin } from '../../../contracts/event.ts'
import { type BackupDrill, backupDrillSchema } from '../../../contracts/proof-events.ts'
import { type StatusAnswer, statusAnswerSchema } from '../../../contracts/status-answer.ts'
import { operationsOf } from '../openapi/operation.ts'
import { isOperator, operatorOrigin } from '../operator.ts'

export interface StatusRoutesOptions {
  readonly status: {
    /** @throws ServiceError `store_unavailable` where this process keeps no read models */
    readonly status: () => Promise<StatusAnswer>
    readonly recordDrill: (drill: BackupDrill, meta: Origin) => Promise<void>
  }
}

const status = {
  operation: operationsOf({ tag: 'proof', errors: ['store_unavailable'] })(
    'status',
    'What the service lost: gaps and incidents of its record, and the newest restore on trial, signed',
  ),
  response: { 200: statusAnswerSchema },
}
const drill = { body: backupDrillSchema, response: { 200: z.strictObject({ recorded: z.literal(true) }) } }

/** `GET /api/status`, open to all; `POST /operator/backup-drills` records a restore on trial. */
export const statusRoutes: FastifyPluginAsyncZod<
  StatusRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, { status: served, operatorToken }) => {
  app.get('/api/status', { schema: status }, async (_request, reply) => {
    reply.headers({ 'cache-control': 'public, max-age=2', 'access-control-allow-origin': '*' })
    return served.status()
  })
  app.post('/operator/backup-drills', { schema: drill }, async (request, reply) => {
    if (!isOperator(request, operatorToken)) throw new ServiceError('unauthorized')
    reply.header('cache-control', 'no-store')
    await served.recordDrill(request.body, operatorOrigin(request))
    return { recorded: true as const }
  })
}
