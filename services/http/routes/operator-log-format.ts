import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { NewEvent } from '../../../contracts/event.ts'
import { NEWEST_LOG_FORMAT } from '../../../contracts/event-catalogue.ts'
import { logFormatAnswerSchema } from '../../../contracts/log-format-answer.ts'
import { operatorOrigin, useOperatorOnly } from '../operator.ts'

export interface OperatorLogFormatOptions {
  readonly logFormat?: {
    readonly current: () => number
    /** @throws ServiceError `outcome_unknown`, and of the store */
    readonly raise: (meta: NewEvent['meta']) => Promise<number>
  }
}

/**
 * The format of the log, which the operator raises after a rolling upgrade: by the owner's socket or with the
 * operator's token.
 */
export const operatorLogFormatRoutes: FastifyPluginAsyncZod<
  OperatorLogFormatOptions & { readonly operatorToken: string | undefined }
> = async (app, { logFormat, operatorToken }) => {
  if (logFormat === undefined) return
  useOperatorOnly(app, operatorToken)
  const schema = { response: { 200: logFormatAnswerSchema } }
  app.get('/operator/log-format', { schema }, async () => ({
    format: logFormat.current(),
    newest: NEWEST_LOG_FORMAT,
  }))
  app.post('/operator/log-format/raise', { schema }, async ({ id }) => ({
    format: await logFormat.raise(operatorOrigin({ id })),
    newest: NEWEST_LOG_FORMAT,
  }))
}
