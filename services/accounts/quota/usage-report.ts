import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { UsageAnswer } from '../../../contracts/usage.ts'
import {
  type UsageDay,
  type UsageDebit,
  usageDayPrefix,
  usageDebitPrefix,
} from '../../../projections/index.ts'
import type { Payer } from './balance.ts'
import { quotaBlock } from './quota-block.ts'
import type { QuotaLedger } from './quota-ledger.ts'

/** The read model of usage. */
export interface UsageSource {
  range(options: { prefix: string; after?: string; direction: 'backwards'; limit: number }): readonly {
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

export interface UsageReportOptions {
  readonly source: UsageSource
  readonly ledger: Pick<QuotaLedger, 'balance'>
  readonly now: () => number
}

/**
 * What a payer has used: live from the ledger, the list and the days from the read model, newest first.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function usageReport(
  { source, ledger, now }: UsageReportOptions,
  payer: Payer,
  { after, limit }: UsageQuery,
): Promise<UsageAnswer> {
  const balance = await ledger.balance(payer)
  // What a cursor names is looked for among the payer's own rows only, whatever it says.
  const prefix = usageDebitPrefix(payer.id)
  const direction = 'backwards'
  const from = after === undefined ? {} : { after: `${prefix}${after}` }
  const found = source.range({ prefix, direction, limit: limit + 1, ...from })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const days = source.range({ prefix: usageDayPrefix(payer.id), direction, limit: LIMITS.usageDays })
  const { id, from: begins, to: ends } = payer.window
  return {
    tier: payer.tier,
    window: { id, from: isoTime(begins), to: isoTime(ends) },
    quota: quotaBlock(payer, balance, now()),
    days: days.map(({ row }) => {
      const { day, calls, tools } = row as UsageDay
      return { day, calls, tools }
    }),
    debits: page.map(({ row }) => usageRow(row as UsageDebit)),
    next: found.length > limit && last !== undefined ? last.key.slice(prefix.length) : null,
  }
}

const usageRow = (debit: UsageDebit): UsageAnswer['debits'][number] => ({
  at: debit.at,
  window: debit.window,
  tool: debit.tool,
  channel: debit.channel,
  key_id: debit.keyId,
  request_hash: debit.requestHash,
  used: debit.used,
})
