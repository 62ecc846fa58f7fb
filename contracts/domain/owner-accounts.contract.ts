import { describe, expect, test } from 'vitest'
import { isServiceError } from '../errors/errors.ts'
import type { OwnerAccounts } from './owner-accounts.ts'

/** Accounts that a test opens and erases, and what subscriptions see of them. */
export interface OwnedWorld extends AsyncDisposable {
  readonly owners: OwnerAccounts
  /** Opens the account of a person, again where it was erased, and answers its id. */
  open(person: 'ada' | 'bob'): Promise<string>
  erase(accountId: string): Promise<void>
  /** Slots that the plan of every account allows. */
  readonly limit: number
}

const ORIGIN = { correlationId: 'test', actor: 'owner' }
const uuid = (n: number): string => `019abcde-7c00-7001-8000-${String(n).padStart(12, '0')}`

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (isServiceError(error) ? error.code : String(error)),
  )

/** The promises of every adapter of {@link OwnerAccounts}, the one in memory for tests included. */
export function ownerAccountsContract(start: () => Promise<OwnedWorld>): void {
  describe('what is sealed for an account', () => {
    test('opens for its purpose and its account only', async () => {
      await using world = await start()
      const [ada, bob] = [await world.open('ada'), await world.open('bob')]
      const { generation, sealed } = await world.owners.sealFor(ada, 'url of 1', 'https://secret', ORIGIN)
      const texts = [{ purpose: 'url of 1', sealed }]
      expect(await world.owners.unsealFor({ accountId: ada, generation }, texts)).toEqual(['https://secret'])
      const other = [{ purpose: 'url of 2', sealed }]
      expect(await codeOf(world.owners.unsealFor({ accountId: ada, generation }, other))).toBe(
        'internal_error',
      )
      await world.owners.sealFor(bob, 'p', 'text', ORIGIN)
      expect(await codeOf(world.owners.unsealFor({ accountId: bob, generation }, texts))).toBe(
        'internal_error',
      )
    })

    test('is opened together with what seals further texts', async () => {
      await using world = await start()
      const accountId = await world.open('ada')
      const { generation, sealed } = await world.owners.sealFor(accountId, 'one', 'first', ORIGIN)
      const opened = await world.owners.openFor({ accountId, generation }, [{ purpose: 'one', sealed }])
      expect(opened.texts).toEqual(['first'])
      const texts = [{ purpose: 'two', sealed: opened.seal('two', 'second') }]
      expect(await world.owners.unsealFor({ accountId, generation }, texts)).toEqual(['second'])
    })

    test('cannot be opened by anybody once the account is erased, nor by its next owner', async () => {
      await using world = await start()
      const accountId = await world.open('ada')
      const { generation, sealed } = await world.owners.sealFor(accountId, 'p', 'text', ORIGIN)
      await world.erase(accountId)
      const opening = () =>
        codeOf(world.owners.unsealFor({ accountId, generation }, [{ purpose: 'p', sealed }]))
      expect(await opening()).toBe('account_unknown')
      await world.open('ada')
      expect(await opening()).toBe('account_unknown')
    })

    test('is nothing where there is no account', async () => {
      await using world = await start()
      expect(await codeOf(world.owners.sealFor(uuid(1), 'p', 'text', ORIGIN))).toBe('account_unknown')
    })
  })

  describe('slots', () => {
    test('are as many as the plan allows; taking or freeing again does nothing', async () => {
      await using world = await start()
      const accountId = await world.open('ada')
      const take = (n: number) => codeOf(world.owners.takeSlot({ accountId, generation: 0 }, uuid(n), ORIGIN))
      for (let n = 0; n < world.limit; n++) expect(await take(n)).toBe('none')
      expect(await take(0)).toBe('none')
      expect(await take(world.limit)).toBe('limit_reached')
      for (let times = 0; times < 2; times++) await world.owners.freeSlot(accountId, uuid(0), ORIGIN)
      expect(await take(world.limit)).toBe('none')
      expect((await world.owners.slots(accountId)).current).toHaveLength(world.limit)
    })

    test('of an erased account are told apart from those of the next', async () => {
      await using world = await start()
      const accountId = await world.open('ada')
      await world.owners.takeSlot({ accountId, generation: 0 }, uuid(1), ORIGIN)
      await world.erase(accountId)
      expect(await codeOf(world.owners.takeSlot({ accountId, generation: 0 }, uuid(3), ORIGIN))).toBe(
        'account_unknown',
      )
      await world.open('ada')
      await world.owners.takeSlot({ accountId, generation: 1 }, uuid(2), ORIGIN)
      const ids = (slots: readonly { subscriptionId: string }[]) =>
        slots.map(({ subscriptionId }) => subscriptionId)
      const { current, former } = await world.owners.slots(accountId)
      expect([ids(current), ids(former)]).toEqual([[uuid(2)], [uuid(1)]])
      await world.owners.freeSlot(accountId, uuid(1), ORIGIN)
      expect((await world.owners.slots(accountId)).former).toEqual([])
    })
  })

  test('erased accounts are told: those of the past, and each that follows', async () => {
    await using world = await start()
    const [first, second] = [await world.open('ada'), await world.open('bob')]
    await world.erase(first)
    const told = world.owners.erasedAccounts()[Symbol.asyncIterator]()
    expect((await told.next()).value).toBe(first)
    const next = told.next()
    await world.erase(second)
    expect((await next).value).toBe(second)
  })
}
