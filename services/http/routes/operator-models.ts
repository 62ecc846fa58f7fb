import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { NewEvent } from '../../../contracts/event.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type ModelRow, modelChoiceSchema, modelsAnswerSchema } from '../../../contracts/model-answers.ts'
import type { ModelChoice } from '../../../contracts/model-events.ts'
import { rowsParameter } from '../../../contracts/parameters.ts'
import { operatorOrigin, useOperatorOnly } from '../operator.ts'

export interface OperatorModelRoutesOptions {
  readonly models?: {
    /** Every model at every timeframe, in one order. */
    readonly list: () => readonly ModelRow[]
    /** @throws ServiceError `model_unknown` */
    readonly choose: (modelVersion: string, meta: NewEvent['meta']) => Promise<ModelChoice>
  }
}

const listSchema = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,6}$/, 'must be the `next` of an answer')
    .transform(Number)
    .default(0),
  limit: rowsParameter(LIMITS.trackRecordRows),
})

/** Models for the operator, under `/operator`: by the owner's socket or with the operator's token. */
export const operatorModelRoutes: FastifyPluginAsyncZod<
  OperatorModelRoutesOptions & { readonly operatorToken: string | undefined }
> = async (app, { models, operatorToken }) => {
  if (models === undefined) return
  useOperatorOnly(app, operatorToken)

  const list = { querystring: listSchema, response: { 200: modelsAnswerSchema } }
  app.get('/operator/models', { schema: list }, async ({ query: { after, limit } }) => {
    const rows = models.list()
    const next = after + limit < rows.length ? String(after + limit) : null
    return { models: rows.slice(after, after + limit), next }
  })

  const using = {
    body: z.strictObject({ model_version: z.string().min(1).max(64) }),
    response: { 200: modelChoiceSchema },
  }
  app.post('/operator/models/use', { schema: using }, async ({ id, body }) => {
    const { modelVersion, sha256, from } = await models.choose(body.model_version, operatorOrigin({ id }))
    return { model_version: modelVersion, sha256, from: isoTime(from) }
  })
}
