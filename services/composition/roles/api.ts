import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import type { Json } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { toolNamed } from '../../../contracts/tools/tool-catalogue.ts'
import { createAttemptLimiter, quotaBlock } from '../../accounts/index.ts'
import { followVerdicts } from '../../analyst/index.ts'
import { createRateLimits } from '../../http/rate-limits.ts'
import { createBars } from '../../market/index.ts'
import { requestGuard } from '../../mcp/request-guard.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Process } from '../open-process.ts'
import { readinessOfProcess } from '../readiness.ts'
import type { ServerOptions } from '../server.ts'
import { createMarketsSource, withVerdictStreams } from './newest-verdicts.ts'
import { readModelAnswers } from './read-models.ts'

/** The options of the HTTP server over the parts of a process. */
export function serverOptions(parts: Process): ServerOptions {
  const { settings, log, platform, feed, projector, toolHandler, transparencyLog } = parts
  const answers = readModelAnswers(parts)
  return {
    ...answers,
    log,
    version: parts.version,
    market: settings.MARKET,
    metrics: parts.registry,
    newId: platform.newId,
    operatorToken: settings.OPERATOR_TOKEN,
    publicUrl: parts.publicUrl,
    trustProxy: settings.TRUST_PROXY,
    since: Date.now(),
    rateLimits: createRateLimits({
      perAddress: settings.RATE_PER_ADDRESS,
      perKey: settings.RATE_PER_KEY,
      redis: platform.cache.redis,
    }),
    markets: createMarketsSource(parts),
    readiness: () => readinessOfProcess(parts),
    unreachable: () => feed.venues().flatMap((venue) => venue.unreachable ?? []),
    bars: createBars(feed),
    sealed: transparencyLog?.sealed,
    transparencyLog: transparencyLog?.server,
    usage: parts.usage,
    accounts: accountOptions(parts),
    payments: parts.payments.server,
    webhooks: parts.webhooks.server,
    knowledge: parts.knowledge.server,
    mcp: mcpOptions(parts, answers),
    replay: parts.replay,
    follow: (options) => followVerdicts(withVerdictStreams(platform.store, projector), { ...options, sleep }),
    answerTool: (tool, request) => toolHandler.answer(toolNamed(tool), request),
  }
}

function accountOptions(parts: Process): NonNullable<ServerOptions['accounts']> {
  const { accounts, ledger, platform, log } = parts
  const { cache, idOf } = platform
  const whose = 'from your address'
  const onProblem = (error: unknown): void => log.warn({ err: error }, 'sign-ins are not counted by address')
  const limiter = (name: string, limit: number) =>
    createAttemptLimiter({ cache, idOf, name, whose, limit, windowMs: HOUR_MS, onProblem })
  return {
    accounts,
    quotaOf: async (payer) => quotaBlock(payer, await ledger.balance(payer), Date.now()),
    signInRequests: limiter('sign-in', LIMITS.signInsPerAddress),
    signInTries: limiter('sign-in-code', LIMITS.signInTriesPerAddress),
    clientDocuments: limiter('client-document', LIMITS.clientDocumentsPerAddress),
  }
}

function mcpOptions(
  { settings, accounts, calls, knowledge, payments, watchList, publicUrl, version }: Process,
  answers: ReturnType<typeof readModelAnswers>,
): NonNullable<ServerOptions['mcp']> {
  return {
    calls,
    knowledge: knowledge.service,
    history: answers,
    paid: payments.isOffering ? payments.server.paid.tools : undefined,
    sources: {
      version,
      market: settings.MARKET,
      exchanges: () => watchList?.exchanges ?? [],
      publicUrl,
      trackRecord() {
        const { asOf, rows } = answers.trackRecord({ groupBy: 'timeframe', limit: LIMITS.trackRecordRows })
        return { as_of: asOf, rows: rows as unknown as Json, speech: answers.speech() }
      },
    },
    async checkKey(authorization) {
      const { outcome } = await accounts.identify(authorization)
      return outcome === 'UNKNOWN' ? 'key_unknown' : outcome === 'INDETERMINATE' ? 'key_unverifiable' : 'ok'
    },
    guard: requestGuard({
      host: settings.HOST,
      publicUrl: settings.PUBLIC_URL,
      origins: settings.ORIGINS ?? [],
    }),
  }
}
