import type { UsageAnswer } from '../../contracts/answers/account.ts'
import { type Identify, type UsageQuery, type UsageReportOptions, usageReport } from '../accounts/index.ts'
import { requireKey } from './caller-identity.ts'

/**
 * Answers whose key it is what the account has used.
 *
 * @throws ServiceError `unauthorized`, `key_unknown`, `key_unverifiable`, `store_unavailable`
 * @example const usage = answerUsage({ identify, ledger, source: projector.reader(debits), now: Date.now })
 */
export function answerUsage(
  options: UsageReportOptions & { readonly identify: Identify },
): (authorization: string | undefined, query: UsageQuery) => Promise<UsageAnswer> {
  return async (authorization, query) => {
    const { accountId: id, tier, window } = requireKey(await options.identify(authorization))
    return usageReport(options, { id, tier, window }, query)
  }
}
