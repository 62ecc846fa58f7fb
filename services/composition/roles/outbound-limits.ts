import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createAttemptLimiter } from '../../accounts/index.ts'
import type { Cache } from '../../runtime/cache/cache.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import type { SubscriptionsOptions } from '../../webhooks/index.ts'

/**
 * Counts what goes to endpoints that nobody asked: tests and new subscriptions, by account, and beyond the first of each
 * account by host over all accounts, also after the subscriptions are gone. While nothing can be counted none is taken:
 * neither is pressing, and the one it would hit has not asked for it.
 *
 * @param hasHostLimit not in trials, where everything is on this machine and there is nobody to be spared
 */
export function createOutboundLimits(
  { cache, idOf }: { readonly cache: Pick<Cache, 'increment'>; readonly idOf: FactId },
  hasHostLimit: boolean,
): SubscriptionsOptions['takeUnasked'] {
  const onProblem = (error: unknown): never => {
    throw error
  }
  const limiter = (name: string, whose: string, limit: number, windowMs: number) =>
    createAttemptLimiter({ cache, idOf, name, whose, limit, windowMs, onProblem })
  const byAccount = {
    test: limiter('webhook-test', 'by your account', LIMITS.webhookTestsPerMinute, MINUTE_MS),
    creation: limiter('webhook-new', 'by your account', LIMITS.webhookCreationsPerHour, HOUR_MS),
  }
  const byDay = limiter('webhook-test-day', 'by your account', LIMITS.webhookTestsPerDay, DAY_MS)
  const byHost = limiter('webhook-host', 'at this host', LIMITS.webhookUnaskedPerHost, MINUTE_MS)
  return async (what, accountId, url) => {
    await byAccount[what].take(accountId)
    if (what === 'test') await byDay.take(accountId)
    if (!hasHostLimit) return
    const { hostname } = new URL(url)
    const { count } = await cache.increment(`webhook-turn:${idOf('webhook-turn', accountId, hostname)}`, {
      ttlMs: MINUTE_MS,
    })
    // The first of each account is always taken, so that those who send many keep nobody else from the host.
    if (count > 1) await byHost.take(hostname)
  }
}
