import type { OwnerAccounts } from '../../contracts/domain/owner-accounts.ts'
import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import { planAt } from '../../projections/index.ts'
import type { LogUse } from '../log/append-with-retry.ts'
import type { AccountDeps } from './account-deps.ts'
import { type AccountIndex, untilFollowing } from './account-index.ts'
import { createAccountLog } from './account-log.ts'
import { mailboxOf } from './sign-in/mail-limits.ts'
import { createSubjectKeys, soleWrapping, type WrappingKeys } from './subject-keys.ts'

export interface SubscriberAccountsOptions extends LogUse, Pick<AccountDeps, 'random'> {
  /** Undefined if this process keeps no read models: then it reports only erasures from now on. */
  readonly index: AccountIndex | undefined
  /** A key of 32 bytes for a purpose, always the same. */
  readonly deriveSecret: (purpose: string) => Uint8Array
  /** Default: the one that `deriveSecret` gives. */
  readonly wrapping?: WrappingKeys
}

export function createSubscriberAccounts(options: SubscriberAccountsOptions): OwnerAccounts {
  const { store, index, now, sleep, signal } = options
  // The read model of accounts has nothing of slots, so nobody waits for it.
  const onChange = () => undefined
  const log = createAccountLog({ ...options, onChange })
  const wrapping = options.wrapping ?? soleWrapping(options.deriveSecret)
  const subjectKeys = createSubjectKeys({ ...options, wrapping })

  return {
    async sealFor(accountId, purpose, text, origin) {
      const { isOpen, generation } = await log.load(accountId)
      if (!isOpen) throw new ServiceError('account_unknown')
      return { generation, sealed: await subjectKeys.seal({ accountId, generation }, purpose, text, origin) }
    },
    unsealFor: (subject, texts) => subjectKeys.unseal(subject, texts),
    openFor: (subject, texts) => subjectKeys.open(subject, texts),
    async takeSlot({ accountId, generation }, subscriptionId, origin) {
      try {
        const command = { kind: 'TakeSlot', subscriptionId, generation, now: now() } as const
        await log.execute(accountId, origin, () => [command])
      } catch (error) {
        // The account was erased after the text was sealed: the key may have been made after its stream was to go.
        if (isServiceError(error, 'account_unknown')) await subjectKeys.erase({ accountId, generation })
        throw error
      }
    },
    async freeSlot(accountId, subscriptionId, origin) {
      await log.execute(accountId, origin, () => [{ kind: 'FreeSlot', subscriptionId }])
    },
    async slots(accountId) {
      const { slots, generation } = await log.load(accountId)
      return {
        current: slots.filter((slot) => slot.generation === generation),
        former: slots.filter((slot) => slot.generation !== generation),
      }
    },
    async standing(accountId) {
      const { generation, sealedEmail, plans } = await log.load(accountId)
      const tier = planAt(plans, now())?.tier ?? 'free'
      if (tier !== 'free' || sealedEmail === null) return { tier, countedAs: accountId }
      const email = await subjectKeys.unsealEmail({ accountId, generation }, sealedEmail)
      return { tier, countedAs: mailboxOf(email) }
    },
    async *erasedAccounts() {
      // Followed from where the read model was before it was looked at, so that none falls in between.
      const after = (index && (await untilFollowing(index, sleep, signal))) ?? (await store.head())
      for (const page of index?.erasedPages() ?? []) {
        if (signal.aborted) return
        for (const { accountId } of page) yield accountId
      }
      for await (const item of store.subscribe({ after, filter: { types: ['AccountErased'] }, signal })) {
        if (item.kind === 'event') yield (item.event.data as { accountId: string }).accountId
      }
    },
  }
}
