import type { UsageAnswer } from '../../../contracts/answers/account.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { quotaWindowSchema } from '../../../contracts/domain/plans.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type UsageDay, usageDayPrefix } from '../../../projections/index.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { DebitEvent, Payer } from './balance.ts'
import { quotaBlock } from './quota-block.ts'
import type { QuotaLedger } from './quota-ledger.ts'

/** The read model that counts by day. */
export interface UsageSource {
  range(options: { prefix: string; direction: 'backwards'; limit: number }): readonly {
    readonly key: string
    readonly row: unknown
  }[]
}

export interface UsageQuery {
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** Debits, at most. */
  readonly limit: number
}

export interface UsageReportOptions extends Pick<Clock, 'now'> {
  readonly source: UsageSource
  readonly ledger: Pick<QuotaLedger, 'balance' | 'debitsBefore'>
}

/**
 * A payer's use: the balance and the debits from the payer's stream, the days from the read model, newest first.
 *
 * @throws ServiceError `invalid_request` for a cursor that is none; `store_unavailable`
 */
export async function usageReport(
  { source, ledger, now }: UsageReportOptions,
  payer: Payer,
  { after, limit }: UsageQuery,
): Promise<UsageAnswer> {
  const place = after === undefined ? { window: payer.window.id } : parseCursor(after)
  const [balance, found] = await Promise.all([
    ledger.balance(payer),
    ledger.debitsBefore(payer.id, place, limit + 1),
  ])
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const prefix = usageDayPrefix(payer.id)
  const days = source.range({ prefix, direction: 'backwards', limit: LIMITS.usageDays })
  const { id, from: begins, to: ends } = payer.window
  return {
    tier: payer.tier,
    window: { id, from: isoTime(begins), to: isoTime(ends) },
    quota: quotaBlock(payer, balance, now()),
    days: days.map(({ row }) => {
      const { day, calls, tools } = row as UsageDay
      return { day, calls, tools }
    }),
    debits: page.map(usageRow),
    next: found.length > limit && last !== undefined ? `${last.data.window.id}/${last.revision}` : null,
  }
}

/** Reads a cursor. It can only name one of the payer's own debits. */
function parseCursor(text: string): { readonly window: string; readonly revision: number } {
  const [window = '', revision = '', ...more] = text.split('/')
  const isPlace = /^\d{1,15}$/.test(revision) && more.length === 0
  if (isPlace && quotaWindowSchema.shape.id.safeParse(window).success) {
    return { window, revision: Number(revision) }
  }
  throw new ServiceError('invalid_request', { message: 'after: must be the `next` of an answer' })
}

const usageRow = ({ at, data }: DebitEvent): UsageAnswer['debits'][number] => ({
  at,
  window: data.window.id,
  tool: data.tool,
  channel: data.channel,
  key_id: data.keyId,
  request_hash: data.requestHash,
  used: data.used,
})
