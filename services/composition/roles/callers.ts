import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { JsonObject } from '../../../contracts/json.ts'
import { isToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { debits } from '../../../projections/index.ts'
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
  ERASED_SUBJECTS_FILE,
  keepErasedSubjects,
  type Mailer,
  type QuotaLedger,
  SUBJECT_KEYS_PURPOSE,
  type UsageSource,
} from '../../accounts/index.ts'
import { addressBlock, addressSite } from '../../http/client-address.ts'
import type { Projector } from '../../log/projector/projector.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { answerUsage, type CallPath, createCallPath, paidPath } from '../../tool-calls/index.ts'
import { createEgressGuard, createGuardedFetch } from '../../webhooks/index.ts'
import type { OnClose } from '../adapters/open-platform.ts'
import { ownHosts } from '../adapters/own-hosts.ts'
import type { CallerDeps } from './caller-deps.ts'
import { keepsNoReadModels } from './read-models.ts'

/** Who calls, what they may, and the path that their calls take. */
export interface Callers {
  readonly accounts: Accounts
  readonly ledger: QuotaLedger
  readonly calls: CallPath
  readonly usage: ReturnType<typeof answerUsage>
}

export interface CallersDeps extends CallerDeps {
  /** Shows the operator what nobody else may read. */
  readonly show: (line: string) => void
}

/** Accounts, their ledger and the path of their calls, over the log and the read models of this process. */
export function openCallers(deps: CallersDeps, onClose: OnClose): Callers {
  const { settings, platform, projector, toolHandler, publicUrl, log } = deps
  const { store, idOf, newId } = platform
  const ending = new AbortController()
  const accounts = createAccounts({
    store,
    index: projector && createAccountIndex(projector),
    idOf,
    newId,
    random: (bytes) => randomBytes(bytes),
    deriveSecret: platform.deriveSecret,
    wrapping: platform.deriveSecrets(SUBJECT_KEYS_PURPOSE),
    erasedSubjects: keepErasedSubjects(join(platform.directory, ERASED_SUBJECTS_FILE)),
    mailer: openMailer(deps),
    cache: platform.cache,
    fetchDocument: createGuardedFetch({
      guard: createEgressGuard({
        allowPrivate: settings.WEBHOOKS_ALLOW_PRIVATE,
        ownHosts: ownHosts(settings),
      }),
      userAgent: `signal-service/${deps.version}`,
    }),
    onSignInMail: (outcome) => deps.metrics.signInMail(outcome),
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
    payPerCall: paidAddress(deps),
  })
  const calls = createCallPath({
    identify: accounts.identify,
    anonymousPayer: (address) => `address-${idOf('address', addressBlock(address))}`,
    ledger,
    admitAnonymous: createSiteAllowance({
      cache: platform.cache,
      idOf,
      siteOf: (address) => (address.includes(':') ? addressSite(address) : undefined),
      now: Date.now,
    }),
    answer: async (tool, request, payerId) =>
      (await toolHandler.answer(tool, request, payerId)) as JsonObject,
    market: settings.MARKET,
    version: deps.version,
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
function paidAddress({ settings, publicUrl }: CallersDeps): (tool: string) => string | undefined {
  const isOffering = settings.X402_PAY_TO !== undefined || settings.DEMO_CHAIN
  return (tool) => (isOffering && isToolName(tool) ? `${publicUrl()}${paidPath(tool)}` : undefined)
}

function openMailer({ settings, show }: CallersDeps): Mailer {
  const { SMTP_URL: url, MAIL_FROM: from } = settings
  return url === undefined ? createOperatorMailer(show) : createSmtpMailer({ url, from })
}

function debitsOf(projector: Projector | undefined): DebitIndex {
  if (projector === undefined) return { find: keepsNoReadModels, position: keepsNoReadModels }
  return createDebitIndex(projector)
}

const usageSource = (projector: Projector | undefined): UsageSource =>
  projector === undefined ? { range: keepsNoReadModels } : projector.reader(debits)
