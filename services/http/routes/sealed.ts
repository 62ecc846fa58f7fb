import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { exchangeParameter, pageCursor, rowsParameter } from '../../../contracts/answers/parameters.ts'
import { SEALED_FILES, sealedDaysSchema } from '../../../contracts/answers/sealed.ts'
import { exchangeSchema } from '../../../contracts/domain/series.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { DaySealer } from '../../analyst/index.ts'
import { openRoutes } from '../add-routes.ts'
import { anyObject, bodyOf, operation } from '../openapi.ts'
import { signalOfLeaving } from '../request-signal.ts'
import { FOR_EVER, hasAlready, OPEN } from '../send-public.ts'

export interface SealedRoutesOptions {
  readonly sealed: Pick<DaySealer, 'list' | 'manifest' | 'file'>
}

const NOTICE =
  'Every verdict of a UTC day with its outcome, once all windows have closed. Files never change; the hash of each manifest is in the transparency log.'

const hive = (name: string) =>
  z
    .string()
    .startsWith(`${name}=`)
    .transform((text) => text.slice(name.length + 1))
const paramsSchema = z.object({
  exchange: hive('exchange').pipe(exchangeSchema).describe('As in `exchange=HL`'),
  date: hive('date').pipe(z.iso.date()).describe('As in `date=2026-01-31`'),
  file: z.enum([...SEALED_FILES, 'manifest.json']).describe('Name of the file'),
})

const TYPES = {
  'verdicts.parquet': 'application/vnd.apache.parquet',
  'verdicts.csv.gz': 'application/gzip',
  'manifest.json': 'application/json; charset=utf-8',
} as const

const content = z.string().describe('Bytes')
const read = {
  ...operation('verdicts', 'sealedFile', 'A sealed file or its manifest; `Range` reads one part of it'),
  description: '`/sealed/exchange=HL/date=2026-01-31/verdicts.parquet`: the path that `GET /sealed` names.',
  params: paramsSchema,
  response: {
    ...bodyOf({
      'application/vnd.apache.parquet': content,
      'application/gzip': content,
      'application/json': anyObject,
    }),
    206: bodyOf({ 'application/octet-stream': content }, 'A part of it')[200],
    304: z.undefined().describe('It is still as `If-None-Match` says'),
  },
}

/** `GET /sealed/…`: days that never change any more, as files that are read by parts. */
export const sealedRoutes: FastifyPluginAsyncZod<SealedRoutesOptions> = async (app, { sealed }) => {
  openRoutes(app)('GET /sealed', {
    ...operation('verdicts', 'sealedDays', 'Daily files of verdicts with their outcomes, which never change'),
    description: 'A day without verdicts is listed without a file.',
    cache: 'public, max-age=60',
    querystring: z.strictObject({
      exchange: exchangeParameter.optional(),
      after: pageCursor(/^[A-Z]{1,20}\/\d{4}-\d{2}-\d{2}$/, 'Later days').optional(),
      limit: rowsParameter(LIMITS.rowsPerPage, LIMITS.rowsPerPage, 'Days'),
    }),
    response: { 200: sealedDaysSchema },
    handle: (_request, { exchange, after, limit }) => ({
      notice: NOTICE,
      ...sealed.list({ exchange, after, limit }),
    }),
  })
  app.get('/sealed/:exchange/:date/:file', { schema: read }, async (request, reply) => {
    const { exchange, date, file: name } = request.params
    reply.headers({ ...OPEN, 'cache-control': FOR_EVER })
    const file =
      name === 'manifest.json'
        ? sealed.manifest(exchange, date)
        : await sealed.file(exchange, date, name, signalOfLeaving(reply))
    const etag = `"${file.sha256}"`
    reply.header('etag', etag).type(TYPES[name])
    if (hasAlready(request, etag)) return reply.code(304).send()
    if ('text' in file) return reply.serializer(String).send(file.text)
    const { range, 'if-range': ifRange = etag } = request.headers
    const part = rangeOf(ifRange === etag ? range : undefined, file.bytes)
    reply.header('accept-ranges', 'bytes')
    if (part === 'beyond') {
      reply.headers({ 'content-range': `bytes */${file.bytes}`, 'cache-control': 'no-store' })
      throw new ServiceError('range_invalid', {
        message: `The file has ${file.bytes} bytes; ${JSON.stringify(range)} is outside of it.`,
      })
    }
    const { from, to } = part ?? { from: 0, to: file.bytes - 1 }
    assert(from <= to && to < file.bytes, 'a part of a sealed file lies within it', to)
    if (part !== undefined) reply.code(206).header('content-range', `bytes ${from}-${to}/${file.bytes}`)
    return reply.header('content-length', to - from + 1).send(file.read(from, to))
  })
}

/** One range of bytes (RFC 9110 §14); undefined for the whole: other units, and several ranges, are not taken. */
export function rangeOf(
  header: string | undefined,
  bytes: number,
): { readonly from: number; readonly to: number } | 'beyond' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  if (first === '')
    return Number(last) === 0 ? 'beyond' : { from: Math.max(0, bytes - Number(last)), to: bytes - 1 }
  if (last !== '' && Number(last) < Number(first)) return undefined
  if (Number(first) >= bytes) return 'beyond'
  return { from: Number(first), to: last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1) }
}
