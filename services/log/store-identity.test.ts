import { expect, test } from 'vitest'
import { STORE_IDENTITY_STREAM } from '../../contracts/events/streams.ts'
import { createFaultyWorld, type FaultyWorld } from '../../testing/event-store/faulty-store.fixture.ts'
import { RETRY_FOR_CALLER } from './append-with-retry.ts'
import { checkStore, claimStore } from './store-identity.ts'
import { describeWritePath } from './write-path.contract.ts'

const identity = { market: 'simulated', seed: '1', secretFingerprint: 'a'.repeat(64) } as const

const claimIn = (world: FaultyWorld, store = world.store) =>
  claimStore(
    { ...world, store, policy: RETRY_FOR_CALLER, signal: world.ending.signal },
    identity,
    world.newId,
  )

describeWritePath('the claim of a new store', { isBounded: true, onConflict: 'yields' }, async (world) => {
  let theirs: string | undefined
  return {
    write: () => claimIn(world),
    async interfere() {
      theirs = await claimIn(world, world.others)
    },
    async recorded() {
      let own = 0
      for await (const { id, type } of world.others.read(STORE_IDENTITY_STREAM))
        if (type === 'LogBegun' && id !== theirs) own += 1
      return own
    },
  }
})

test('a store is looked at without being written to', async () => {
  const world = createFaultyWorld()
  expect(await checkStore(world.store, identity)).toBeUndefined()
  expect(world.appends).toBe(0)
  const id = await claimIn(world)
  expect(await checkStore(world.store, identity)).toBe(id)
  const otherKey = { ...identity, secretFingerprint: 'b'.repeat(64) }
  await expect(checkStore(world.store, otherKey)).rejects.toMatchObject({ code: 'store_mismatch' })
})
