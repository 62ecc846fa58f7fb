import type { OwnerAccounts, Subject, SubscriptionSlot } from '../../../../contracts/domain/owner-accounts.ts'
import type { Tier } from '../../../../contracts/domain/plans.ts'
import { ServiceError } from '../../../../contracts/errors/errors.ts'

interface Slot extends SubscriptionSlot {
  readonly generation: number
}

/** Accounts in memory: they pass the suite of the real ones, and seal nothing in earnest. */
export interface FakeOwners extends OwnerAccounts {
  limit: number
  plan: Tier
  /** Opens an account, again where it was erased. */
  open(accountId: string): void
  erase(accountId: string): void
}

export function fakeOwners(now: () => number): FakeOwners {
  const accounts = new Map<string, { generation: number; isOpen: boolean; slots: Slot[] }>()
  const erased: string[] = []
  let wake = Promise.withResolvers<void>()

  const require = (accountId: string) => {
    const account = accounts.get(accountId)
    if (account?.isOpen !== true) throw new ServiceError('account_unknown')
    return account
  }
  const owners: FakeOwners = {
    limit: 5,
    plan: 'free',
    open(accountId) {
      const before = accounts.get(accountId) ?? { generation: 0, slots: [] }
      accounts.set(accountId, { ...before, isOpen: true })
    },
    erase(accountId) {
      const account = require(accountId)
      accounts.set(accountId, { ...account, isOpen: false, generation: account.generation + 1 })
      erased.push(accountId)
      wake.resolve()
      wake = Promise.withResolvers()
    },
    async sealFor(accountId, purpose, text) {
      const { generation } = require(accountId)
      const content = JSON.stringify({ accountId, generation, purpose, text })
      return { generation, sealed: `fake.${Buffer.from(content).toString('base64url')}` }
    },
    async unsealFor({ accountId, generation }: Subject, texts) {
      const account = require(accountId)
      return texts.map(({ purpose, sealed }) => {
        const content = JSON.parse(Buffer.from(sealed.slice(5), 'base64url').toString()) as {
          [name: string]: string | number
        }
        if (account.generation !== generation) throw new ServiceError('account_unknown')
        if (content.accountId !== accountId || content.purpose !== purpose)
          throw new ServiceError('internal_error')
        return String(content.text)
      })
    },
    async openFor(owner, texts) {
      const { accountId, generation } = owner
      return {
        texts: await owners.unsealFor(owner, texts),
        seal(purpose, text) {
          const content = JSON.stringify({ accountId, generation, purpose, text })
          return `fake.${Buffer.from(content).toString('base64url')}`
        },
      }
    },
    async takeSlot({ accountId, generation }, subscriptionId) {
      const account = require(accountId)
      if (account.generation !== generation) throw new ServiceError('account_unknown')
      const current = account.slots.filter((slot) => slot.generation === generation)
      if (current.some((slot) => slot.subscriptionId === subscriptionId)) return
      if (current.length >= owners.limit) throw new ServiceError('limit_reached')
      account.slots.push({ subscriptionId, generation, takenAt: now() })
    },
    async freeSlot(accountId, subscriptionId) {
      const account = accounts.get(accountId)
      if (account !== undefined) {
        account.slots = account.slots.filter((slot) => slot.subscriptionId !== subscriptionId)
      }
    },
    async slots(accountId) {
      const { slots, generation } = accounts.get(accountId) ?? { slots: [], generation: 0 }
      return {
        current: slots.filter((slot) => slot.generation === generation),
        former: slots.filter((slot) => slot.generation !== generation),
      }
    },
    standing: async (accountId) => ({ tier: owners.plan, countedAs: accountId }),
    async *erasedAccounts() {
      for (let told = 0; ; ) {
        for (; told < erased.length; told++) yield erased[told] ?? ''
        await wake.promise
      }
    },
  }
  return owners
}
