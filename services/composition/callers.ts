import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { JsonObject } from '../../contracts/json.ts'
import { isToolName } from '../../contracts/tools/tool-catalogue.ts'
import { debits } from '../../projections/index.ts'
import {
  type Accounts,
  createAccountIndex,
  createAccounts,
  createDebitIndex,
  createOperatorMailer,
  createQuotaLedger,
  createSiteAllowance,
  createSmtpMailer,
  type DebitIndex,
  type Mailer,
  type QuotaLedger,
  type UsageSource,
} from '../accounts/index.ts'
import { addressBlock, addressSite } from '../api/index.ts'
import { answerUsage, type CallPath, createCallPath, paidPath } from '../calls/index.ts'
import type { Desk } from '../engine/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import type { Settings } from '../platform/config/settings.ts'
import type { Projector } from '../platform/projector/projector.ts'
import { createEgressGuard, createGuardedFetch } from '../webhooks/index.ts'
import type { OnClose, Platform } from './open-platform.ts'
import { ownHosts } from './own-hosts.ts'
import { keepsNoReadModels } from './read-models.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** Who calls, what they may, and the path that their calls take. */
export interface Callers {
  readonly accounts: Accounts
  readonly ledger: QuotaLedger
  readonly calls: CallPath
  readonly usage: ReturnType<typeof answerUsage>
}

export interface CallersParts {
  readonly settings: Settings
  readonly platform: Platform
  readonly projector: Projector | undefined
  readonly desk: Desk
  readonly publicUrl: () => string
  readonly version: string
  readonly log: Logger
  readonly metrics: Pick<ServiceMetrics, 'signInMail'>
  /** Shows the operator what nobody else may read. */
  readonly show: (line: string) => void
}

/** Accounts, their ledger and the path of their calls, over the log and the read models of this process. */
export function openCallers(parts: CallersParts, onClose: OnClose): Callers {
  const { settings, platform, projector, desk, publicUrl, log } = parts
  const { store, idOf, newId } = platform
  const ending = new AbortController()
  const accounts = createAccounts({
    store,
    index: projector && createAccountIndex(projector),
    idOf,
    newId,
    random: (bytes) => randomBytes(bytes),
    deriveSecret: platform.deriveSecret,
    mailer: openMailer(parts),
    cache: platform.cache,
    fetchDocument: createGuardedFetch({
      guard: createEgressGuard({
        allowPrivate: settings.WEBHOOKS_ALLOW_PRIVATE,
        ownHosts: ownHosts(settings),
      }),
      userAgent: `signal-service/${parts.version}`,
    }),
    onSignInMail: parts.metrics.signInMail,
    publicUrl,
    now: Date.now,
    sleep,
    report: (event, details) => log.warn(details, event),
  })
  onClose(async () => {
    ending.abort()
    await accounts.close()
  })
  const ledger = createQuotaLedger({
    store,
    index: debitsOf(projector),
    idOf,
    newId,
    now: Date.now,
    sleep,
    signal: ending.signal,
    payPerCall: paidAddress(parts),
  })
  const calls = createCallPath({
    // The edge has counted every request before it came here.
    admit: async () => undefined,
    identify: accounts.identify,
    anonymousPayer: (address) => `address-${idOf('address', addressBlock(address))}`,
    ledger,
    admitAnonymous: createSiteAllowance({
      cache: platform.cache,
      idOf,
      siteOf: (address) => (address.includes(':') ? addressSite(address) : undefined),
      now: Date.now,
    }),
    answer: async (tool, request, payerId) => (await desk.answer(tool, request, payerId)) as JsonObject,
    market: settings.MARKET,
    version: parts.version,
    now: Date.now,
  })
  const usageOf = answerUsage({
    identify: accounts.identify,
    ledger,
    source: usageSource(projector),
    now: Date.now,
  })
  return { accounts, ledger, calls, usage: usageOf }
}

/** Where who has no calls left can pay for one; nowhere while nothing is offered. */
function paidAddress({ settings, publicUrl }: CallersParts): (tool: string) => string | undefined {
  const isOffering = settings.X402_PAY_TO !== undefined || settings.DEMO_CHAIN
  return (tool) => (isOffering && isToolName(tool) ? `${publicUrl()}${paidPath(tool)}` : undefined)
}

function openMailer({ settings, show }: CallersParts): Mailer {
  const { SMTP_URL: url, MAIL_FROM: from } = settings
  return url === undefined ? createOperatorMailer(show) : createSmtpMailer({ url, from })
}

function debitsOf(projector: Projector | undefined): DebitIndex {
  if (projector === undefined) return { find: keepsNoReadModels, position: keepsNoReadModels }
  return createDebitIndex(projector)
}

const usageSource = (projector: Projector | undefined): UsageSource =>
  projector === undefined ? { range: keepsNoReadModels } : projector.reader(debits)
