import { LIMITS } from '../../contracts/limits.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { type AttemptLimiter, createAttemptLimiter, quotaBlock } from '../accounts/index.ts'
import type { Callers, CallersDeps } from './roles/callers.ts'
import type { ServerOptions } from './server.ts'

/** What the routes of accounts stand on. */
export function accountOptions(
  { platform, log }: Pick<CallersDeps, 'platform' | 'log'>,
  { accounts, ledger }: Pick<Callers, 'accounts' | 'ledger'>,
): NonNullable<ServerOptions['accounts']> {
  const limiter = (name: string, limit: number): AttemptLimiter =>
    createAttemptLimiter({
      cache: platform.cache,
      idOf: platform.idOf,
      name,
      whose: 'from your address',
      limit,
      windowMs: HOUR_MS,
      onProblem: (error) => log.warn({ err: error }, 'sign-ins are not counted by address'),
    })
  return {
    accounts,
    quotaOf: async (payer) => quotaBlock(payer, await ledger.balance(payer), Date.now()),
    grantCalls: (payer, calls, reason, requestId) =>
      ledger.grant(payer, calls, reason, { at: Date.now(), requestId }),
    signInRequests: limiter('sign-in', LIMITS.signInsPerAddress),
    signInTries: limiter('sign-in-code', LIMITS.signInTriesPerAddress),
    clientDocuments: limiter('client-document', LIMITS.clientDocumentsPerAddress),
  }
}
