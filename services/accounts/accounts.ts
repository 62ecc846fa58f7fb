import type { Subject } from '../../contracts/domain/owner-accounts.ts'
import type { Tier } from '../../contracts/domain/plans.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { isServiceError, reasonOf, ServiceError } from '../../contracts/errors/errors.ts'
import { subjectStream } from '../../contracts/events/streams.ts'
import type { Origin } from '../../contracts/infra/event.ts'
import type { Position } from '../../contracts/infra/position.ts'
import { accounts as accountsProjection, type PlanPeriod, planAt } from '../../projections/index.ts'
import { outcomeUnknownError, type UnknownOutcome } from '../log/append-with-retry.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { Cache } from '../runtime/cache/cache.ts'
import {
  type AccountDeps,
  type IssuedKey,
  makeKey,
  type OpenedKey,
  openLabels,
  recordOf,
  withKeyNames,
} from './account-deps.ts'
import { createAccountLog } from './account-log.ts'
import { requireOpen, requireRoomFor } from './decide-account.ts'
import { type ErasureList, listedSubject } from './erasure-list.ts'
import { createIdentifier, entitlementOf, type Identify } from './identify.ts'
import type { Mailer } from './mail/mailer.ts'
import { createClientDocuments, type FetchDocument } from './oauth/client-documents.ts'
import { createOAuth, isFor, type OAuth } from './oauth/oauth.ts'
import { createTokens } from './oauth/tokens.ts'
import { createOperatorAccounts, type OperatorAccounts } from './operator-accounts.ts'
import type { Payer } from './quota/balance.ts'
import { resealAll } from './reseal-all.ts'
import { createMailLimits } from './sign-in/mail-limits.ts'
import { createMailOwner, type MailOwner } from './sign-in/mail-owner.ts'
import { createPostOffice } from './sign-in/post-office.ts'
import { createSignIn, type SignIn } from './sign-in/sign-in.ts'
import { createSubjectKeys, soleWrapping, type WrappingKeys } from './subject-keys.ts'

export interface AccountsOptions
  extends Pick<Clock, 'now' | 'sleep'>,
    Pick<AccountDeps, 'index' | 'idOf' | 'newId' | 'random'> {
  readonly store: EventStore
  /** A key of 32 bytes for a purpose, always the same. */
  readonly deriveSecret: (purpose: string) => Uint8Array
  /** Default: the one that `deriveSecret` gives. */
  readonly wrapping?: WrappingKeys
  /** Erased accounts, known outside of the log. Default: none are. */
  readonly erasures?: ErasureList
  readonly mailer: Mailer
  /** Counts sign-in mails, with the other processes where they share it. */
  readonly cache: Pick<Cache, 'increment'>
  /** Told of every sign-in mail, for alarms. */
  readonly onSignInMail?: (outcome: 'sent' | 'held') => void
  /** Fetches the documents by which programs describe themselves; no program can be let in without it. */
  readonly fetchDocument?: FetchDocument
  /** The public address of the service, for mails and tokens. */
  readonly publicUrl: () => string
  /** Told what the operator should know; without addresses, codes and keys. */
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

/** An account as its owner, or the operator, sees it. */
export interface AccountView {
  readonly accountId: string
  /** Null for an account that was opened without one. */
  readonly email: string | null
  readonly tier: Tier
  /** Unix milliseconds. */
  readonly openedAt: number
  /** The running plan; undefined on free. */
  readonly plan: PlanPeriod | undefined
  /** Plans that begin later, oldest first. */
  readonly nextPlans: readonly PlanPeriod[]
  readonly keys: readonly OpenedKey[]
  /** The payer of its calls now. */
  readonly payer: Payer
}

/** Accounts, their keys, sessions and plans. Ids are UUIDs in lower case. */
export interface Accounts extends SignIn, OperatorAccounts {
  /** Programs that act for accounts. */
  readonly oauth: OAuth
  /** The caller behind a request. Takes tens of microseconds at most, except for the first request of a key. */
  readonly identify: Identify
  readonly mailOwner: MailOwner
  /** @throws ServiceError `account_unknown` */
  show(accountId: string): Promise<AccountView>
  /** @throws ServiceError `account_unknown`, `limit_reached` */
  issueKey(accountId: string, label: string, origin: Origin): Promise<IssuedKey>
  /**
   * When it resolves, the key does not apply any more: in this process at once, in others in a moment.
   *
   * @throws ServiceError `account_unknown`, `not_found` for a key that is not one of the account
   */
  revokeKey(accountId: string, keyId: string, origin: Origin): Promise<void>
  /** Ends every session of a browser, as {@link revokeKey} ends a key. @throws ServiceError `account_unknown` */
  endSessions(accountId: string, origin: Origin): Promise<void>
  /** A plan begins, `free` ends those that have not. @throws ServiceError `account_unknown`, `invalid_request` */
  startPlan(
    accountId: string,
    plan: {
      readonly tier: Tier
      readonly source: 'operator' | 'payment'
      readonly reference?: string | undefined
    },
    origin: Origin,
  ): Promise<void>
  /**
   * @throws ServiceError `account_unknown`, `invalid_request` where it has as many plans ahead as it may have,
   *   `plan_conflict` where a dearer one has not ended
   */
  requirePlanRoom(accountId: string, tier: Tier): Promise<void>
  /**
   * The plan that a payment bought, which begins with the first time that this is called for it.
   *
   * @param bought `claimedAtMs`: when the payment was claimed, as the log has it
   * @throws ServiceError `account_unknown` where the account was erased before the plan began, `state_conflict` where it
   *   was afterwards
   */
  buyPlan(
    accountId: string,
    bought: {
      readonly tier: Exclude<Tier, 'free'>
      readonly paymentId: string
      /** Unix milliseconds. */
      readonly claimedAtMs: number
    },
    origin: Origin,
  ): Promise<PlanPeriod>
  /**
   * Ends an account, revokes its keys and forgets what was personal. The same address can sign in again, to an
   * account of the same id without keys and plans; calls used in a window stay used.
   *
   * @throws ServiceError `account_unknown`; `outcome_unknown` where the log did not take all of it: asked again, it goes
   *   on where it ended
   */
  erase(accountId: string, origin: Origin): Promise<void>
  /** Ends what goes on by itself, after mails that are under way. */
  close(): Promise<void>
}

/**
 * Accounts over the log. From now on it follows changes of other processes, until it is closed.
 */
// oxlint-disable-next-line max-lines-per-function -- the methods of the port, each a few lines over the same streams
export function createAccounts(options: AccountsOptions): Accounts {
  const { store, index, newId, now, sleep, random, deriveSecret, report } = options
  const ending = new AbortController()
  const { signal } = ending
  const tokens = createTokens(deriveSecret('OAuth tokens'), random)
  const identifier = createIdentifier({
    store,
    index,
    openToken(text) {
      const claims = tokens.openAccess(text)
      return claims !== undefined && isFor(claims.audience, options.publicUrl()) ? claims : undefined
    },
    openSession: (text) => tokens.openSession(text),
    now,
    sleep,
    signal,
  })
  const onChange = (accountId: string, position: Position): void => identifier.changed(accountId, position)
  const log = createAccountLog({ store, newId, now, sleep, signal, onChange })
  const wrapping = options.wrapping ?? soleWrapping(deriveSecret)
  const subjectKeys = createSubjectKeys({ ...options, wrapping, signal })
  const postOffice = createPostOffice({
    mailer: options.mailer,
    sleep,
    signal,
    onFailure: (about, reason) => report('a mail could not be sent', { about, reason }),
  })
  const deps: AccountDeps = { ...options, log, subjectKeys, identifier }
  const signIn = createSignIn({
    ...deps,
    codeSecret: deriveSecret('sign-in codes'),
    sealSession: tokens.session,
    postOffice,
    mailer: options.mailer,
    publicUrl: options.publicUrl,
    admitMail: createMailLimits({ ...options, onMail: options.onSignInMail ?? (() => undefined) }),
  })
  const keepOn = (what: string, work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => report(`${what} has stopped`, { reason: reasonOf(error) }))
  const running = [
    keepOn('erasing what a restored log has back', () => eraseListed({ ...deps, signal }, options)),
    // While the key was never replaced, no account is read.
    wrapping.used > 0 &&
      keepOn('sealing keys anew', () =>
        resealAll({ subjectKeys, index, load: (accountId) => log.load(accountId), sleep, signal, report }),
      ),
    // Without it, other processes' changes are seen when memory is over.
    keepOn('following accounts', () => followChanges(store, onChange, signal)),
  ]

  return {
    ...signIn,
    ...keyOperations(deps),
    ...createOperatorAccounts(deps),
    oauth: createOAuth({
      ...deps,
      tokens,
      documents: createClientDocuments({ fetchDocument: options.fetchDocument ?? fetchesNothing, now }),
      publicUrl: options.publicUrl,
    }),
    identify: identifier.identify,
    mailOwner: createMailOwner({ ...deps, postOffice, mailer: options.mailer }),
    show: (accountId) => show(deps, accountId),
    async startPlan(accountId, { tier, source, reference = null }, origin) {
      await log.execute(accountId, origin, () => [{ kind: 'StartPlan', tier, source, reference, now: now() }])
      await identifier.settled()
    },
    async requirePlanRoom(accountId, tier) {
      requireRoomFor(accountId, tier, await log.load(accountId), now())
    },
    async buyPlan(accountId, { tier, paymentId: reference, claimedAtMs }, origin) {
      await log.execute(accountId, origin, () => [
        { kind: 'StartPlan', tier, source: 'payment', reference, claimedAtMs, now: now() },
      ])
      await identifier.settled()
      const { bought, generation } = await log.load(accountId)
      const plan = bought.find((one) => one.reference === reference)
      assert(plan !== undefined, 'a payment that was taken has begun its plan', reference)
      if (plan.generation === generation) return { tier: plan.tier, from: plan.from, to: plan.to }
      throw new ServiceError('state_conflict', {
        nextStep: 'Sign a new authorization to buy another plan.',
        message: `The plan of payment ${reference} ended when its account was erased; it begins no other.`,
      })
    },
    async erase(accountId, origin) {
      const state = await log.load(accountId)
      requireOpen(accountId, state)
      await eraseSubject(deps, options.erasures, { accountId, generation: state.generation }, origin)
      await identifier.settled()
    },
    async close() {
      ending.abort()
      await Promise.all([...running, postOffice.close()])
    },
  }
}

const fetchesNothing: FetchDocument = () => Promise.reject(new Error('nothing is fetched here'))

function keyOperations(deps: AccountDeps): Pick<Accounts, 'issueKey' | 'revokeKey' | 'endSessions'> {
  const { log, identifier, now } = deps
  return {
    async issueKey(accountId, label, origin) {
      const made = makeKey(deps, label)
      const issue = (): Promise<unknown> =>
        log.execute(accountId, origin, async ({ isOpen, generation }) => {
          const subject = isOpen ? { accountId, generation } : undefined
          return [{ kind: 'IssueKey', key: await recordOf(deps, subject, made, origin) }]
        })
      await withKeyNames(deps, accountId, issue)
      await identifier.settled()
      return made
    },
    async revokeKey(accountId, keyId, origin) {
      const reason = `revoked by ${origin.actor}`
      await log.execute(accountId, origin, () => [{ kind: 'RevokeKey', keyId, reason }])
      await identifier.settled()
    },
    async endSessions(accountId, origin) {
      const reason = `ended by ${origin.actor}`
      await log.execute(accountId, origin, () => [{ kind: 'EndSessions', before: now() + 1, reason }])
      await identifier.settled()
    },
  }
}

async function show(deps: AccountDeps, accountId: string): Promise<AccountView> {
  const { log, subjectKeys, now } = deps
  const state = await log.load(accountId)
  const { isOpen, generation, sealedEmail, openedAt, plans, keys } = state
  if (!isOpen) throw new ServiceError('account_unknown', { message: `There is no account ${accountId}.` })
  const at = now()
  const { tier, window } = entitlementOf(plans, at)
  return {
    accountId,
    email:
      sealedEmail === null ? null : await subjectKeys.unsealEmail({ accountId, generation }, sealedEmail),
    tier,
    openedAt,
    plan: planAt(plans, at),
    nextPlans: plans.filter(({ from }) => from > at),
    keys: await openLabels(deps, { accountId, generation }, keys),
    payer: { id: accountId, tier, window },
  }
}

const ERASE_UNKNOWN: UnknownOutcome = {
  what: 'all of the account was erased',
  again:
    'Send the same request again: it goes on where it ended, and is refused once there is no account any more.',
}

/** Forgets a subject for good, and ends its account. Each step does nothing the second time. */
async function eraseSubject(
  { log, subjectKeys }: AccountDeps,
  list: ErasureList | undefined,
  subject: Subject,
  origin: Origin,
): Promise<void> {
  const { accountId, generation } = subject
  // Known outside of the log before it is done: a copy of the log has the key still.
  list?.add([subjectStream(accountId, generation)])
  try {
    await subjectKeys.erase(subject)
    await log.execute(accountId, origin, (state) =>
      state.isOpen && state.generation === generation ? [{ kind: 'Erase' }] : [],
    )
    // A key can be made or sealed anew until the account has ended.
    if (await subjectKeys.has(subject)) await subjectKeys.erase(subject)
  } catch (error) {
    throw isServiceError(error) ? outcomeUnknownError(ERASE_UNKNOWN, error) : error
  }
}

/** Erases again what a log that was set back, or an erasure that was broken off, has left open. */
async function eraseListed(
  deps: AccountDeps & { readonly signal: AbortSignal },
  { erasures, report }: Pick<AccountsOptions, 'erasures' | 'report'>,
): Promise<void> {
  for (const stream of erasures?.read() ?? []) {
    if (deps.signal.aborted) return
    const subject = listedSubject(stream)
    const { accountId } = subject
    const { isOpen, generation } = await deps.log.load(accountId)
    if (!isOpen || generation !== subject.generation) continue
    await eraseSubject(deps, erasures, subject, { correlationId: 'erased before', actor: 'start' })
    report('an account that was erased before is erased again', { accountId })
  }
}

/** Forgets what is remembered of accounts that another process changed. */
async function followChanges(
  store: EventStore,
  onChange: (accountId: string, position: Position) => void,
  signal: AbortSignal,
): Promise<void> {
  const filter = { types: accountsProjection.events }
  for await (const item of store.subscribe({ after: 'end', filter, signal })) {
    if (item.kind !== 'event') continue
    const { accountId } = item.event.data
    if (typeof accountId === 'string') onChange(accountId, item.event.position)
  }
}
