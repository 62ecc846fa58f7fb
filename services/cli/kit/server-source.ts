import { barsAnswerSchema } from '../../../contracts/bars-answer.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { seriesHistorySchema } from '../../../contracts/series-history.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { verificationSchema } from '../../../contracts/verification.ts'
import { barPages } from './bar-pages.ts'
import { Service, type ServiceAddress } from './service.ts'
import type { VerdictRequest, VerdictSource } from './verdict-source.ts'

export function createServerSource(
  given: ServiceAddress & { readonly description: string; readonly stderr: NodeJS.WritableStream },
): VerdictSource {
  const { description, stderr } = given
  const onWait = (why: string, waitMs: number): void =>
    void stderr.write(`${description}: ${why}; asking again in ${waitMs / 1_000} s\n`)
  const asked = (signal: AbortSignal): Service => new Service({ ...given, onWait }, signal)
  const verdicts =
    (kind: 'replay' | 'follow') =>
    ({ parameters, limit, signal }: VerdictRequest) =>
      asked(signal).verdicts(kind, parameters, limit) as AsyncIterable<unknown> as AsyncIterable<VerdictRow>
  return {
    description,
    replay: verdicts('replay'),
    follow: verdicts('follow'),
    verify: (verdictId, signal) =>
      asked(signal).get(`/verify/${verdictId}`, { format: 'json' }, verificationSchema),

    async *outcomes({ exchange, coin, timeframe }, from, signal) {
      const path = `/api/series/${exchange}/${coin}/${timeframe}`
      const query = { limit: String(LIMITS.historyRows) }
      for await (const { rows } of asked(signal).pages(path, query, seriesHistorySchema)) {
        for (const { bar_close, barrier, outcome } of rows) {
          const barClose = Date.parse(bar_close)
          if (barClose < from) return
          if (outcome === null) continue
          const { race, entry_price: entryPrice, exit_price: exitPrice } = outcome
          yield { barClose, barrier, race, entryPrice, exitPrice }
        }
      }
    },

    bars: ({ exchange, coin, timeframe }, { from, to }, signal) =>
      barPages(timeframe, { from, to }, (begin) => {
        const query = { exchange, coin, timeframe, from: String(begin), to: String(to) }
        return asked(signal).get('/api/bars', query, barsAnswerSchema)
      }),

    close: async () => undefined,
  }
}
