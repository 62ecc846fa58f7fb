import { join } from 'node:path'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { isToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { debits } from '../../../projections/index.ts'
import {
  createAccountIndex,
  createAccounts,
  createDebitIndex,
  createOperatorMailer,
  createQuotaLedger,
  createSiteAllowance,
  createSmtpMailer,
  type DebitIndex,
  ERASURE_LIST_FILE,
  type Mailer,
  openErasureList,
  SUBJECT_KEYS_PURPOSE,
} from '../../accounts/index.ts'
import { addressBlock, addressSite } from '../../http/client-address.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { answerUsage, createCallPath, paidPath } from '../../tool-calls/index.ts'
import { createEgressGuard, createGuardedFetch } from '../../webhooks/index.ts'
import type { CallerParts } from '../shared-parts.ts'
import { keepsNoReadModels } from './read-models.ts'

type Parts = Omit<CallerParts, 'accounts' | 'calls'>

/** Names of this service: nothing is sent to them or fetched from them. */
export const ownHosts = ({ HOST, PUBLIC_URL }: Settings): string[] => [
  HOST,
  ...(PUBLIC_URL === undefined ? [] : [new URL(PUBLIC_URL).hostname]),
]

/** Accounts, their ledger and the path of their calls, over the log and the read models of this process. */
export function openCallers(parts: Parts) {
  const { settings, platform, projector, toolHandler, publicUrl, log, version, shutdown } = parts
  const { idOf, cache } = platform
  const allowPrivate = settings.WEBHOOKS_ALLOW_PRIVATE
  const guard = createEgressGuard({ allowPrivate, ownHosts: ownHosts(settings) })
  const accounts = createAccounts({
    ...platform.basics,
    index: projector && createAccountIndex(projector),
    deriveSecret: platform.deriveSecret,
    wrapping: platform.deriveSecrets(SUBJECT_KEYS_PURPOSE),
    erasures: openErasureList(join(platform.directory, ERASURE_LIST_FILE)),
    mailer: openMailer(settings),
    cache,
    fetchDocument: createGuardedFetch({ guard, userAgent: `signal-service/${version}` }),
    onSignInMail: parts.counters.signInMail,
    publicUrl,
    report: (event, details) => log.warn(details, event),
  })
  shutdown.onClose(() => accounts.close())
  const ledger = createQuotaLedger({
    ...platform.basics,
    index: projector === undefined ? NO_DEBITS : createDebitIndex(projector),
    signal: shutdown.stopSignal,
    // The address that sells a call to a payer without calls left.
    payPerCall: (tool) =>
      settings.X402_PAY_TO !== undefined && isToolName(tool) ? `${publicUrl()}${paidPath(tool)}` : undefined,
  })
  const calls = createCallPath({
    identify: accounts.identify,
    anonymousPayer: (address) => `address-${idOf('address', addressBlock(address))}`,
    ledger,
    admitAnonymous: createSiteAllowance({
      cache,
      idOf,
      siteOf: (address) => (address.includes(':') ? addressSite(address) : undefined),
      now: Date.now,
    }),
    answer: async (tool, request, payerId) =>
      (await toolHandler.answer(tool, request, payerId)) as JsonObject,
    market: settings.MARKET,
    version,
    now: Date.now,
  })
  const source = projector === undefined ? { range: keepsNoReadModels } : projector.reader(debits)
  const usage = answerUsage({ identify: accounts.identify, ledger, source, now: Date.now })
  return { accounts, ledger, calls, usage }
}

/** Standard error is the operator's; the log may be shipped to where sign-in codes must not go. */
const showOperator = (line: string): void => void process.stderr.write(`${line}\n`)

const openMailer = ({ SMTP_URL: url, MAIL_FROM: from }: Settings): Mailer =>
  url === undefined ? createOperatorMailer(showOperator) : createSmtpMailer({ url, from })

const NO_DEBITS: DebitIndex = { find: keepsNoReadModels, position: keepsNoReadModels }
