import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import type { EventStore } from '../../log/event-store.ts'
import { useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'
import { upTo } from './testing/expect-whole.fixture.ts'

const MINUTE_MS = 60_000
const conflict = new ServiceError('revision_conflict', { message: 'another event is there' })

useDispatchWorld()

/** The world's store, in which something happens to the next append of a type of event. */
function faultyAt(type: string, fault: (append: () => Promise<unknown>) => Promise<void>) {
  let isArmed = false
  const store: EventStore = {
    ...world.store,
    async append(stream, events: readonly NewEvent[], options) {
      const append = () => world.store.append(stream, events, options)
      if (isArmed && events.some((event) => event.type === type)) {
        isArmed = false
        await fault(append)
      }
      return append()
    },
  }
  return { store, arm: () => void (isArmed = true) }
}

/** One verdict a minute. */
async function live(minutes: number): Promise<void> {
  for (let n = 0; n < minutes; n++) {
    await world.verdicts(1)
    await world.time.pass(MINUTE_MS, 1_000)
  }
}

describe.each([
  ['over a store of its own', false],
  ['over a store of several', true],
])('a conflict on a record under its own token, %s', (_, shares) => {
  test.each([
    ['that was not written', async () => {}],
    ['that was written all the same', async (append: () => Promise<unknown>) => void (await append())],
  ])('%s, keeps nobody from being sent to', async (__, before) => {
    const { store, arm } = faultyAt('DeliveriesAttempted', async (append) => {
      await before(append)
      throw conflict
    })
    await world.subscribe('bot')
    await world.start({ store, shares })
    await world.time.pass(5_000)
    await live(1)
    arm()
    await live(5)
    expect(world.sequences('bot')).toEqual(upTo(6))
    expect((await world.deliveries('bot')).counts).toMatchObject({ delivered: 6 })
  })
})

test('an endpoint whose log was taken from it while its shard stays here is opened again', async () => {
  const { store, arm } = faultyAt('CursorTaken', async () => {
    throw new ServiceError('lease_lost', { message: 'taken under a higher token' })
  })
  await world.subscribe('bot')
  await world.start({ store, shares: true })
  await world.time.pass(5_000)
  arm()
  await live(3)
  expect(world.sequences('bot')).toEqual(upTo(3))
})

describe('a subscription of a held shard that nobody works on', () => {
  test('is told of for as long as its logs cannot be read', async () => {
    let isAway = true
    const store: EventStore = {
      ...world.store,
      read: (stream, options) => {
        if (isAway && stream.startsWith('delivery-')) throw new ServiceError('store_unavailable')
        return world.store.read(stream, options)
      },
    }
    await world.subscribe('bot')
    const { dispatcher } = await world.start({ store })
    await live(3)
    expect(dispatcher.health()).toMatchObject({ unattended: 1 })
    expect(dispatcher.health().unattendedMs).toBeGreaterThan(MINUTE_MS)
    isAway = false
    await live(1)
    expect(dispatcher.health()).toMatchObject({ unattended: 0, unattendedMs: 0 })
    expect(world.sequences('bot')).toEqual(upTo(4))
    world.errors.length = 0
  })
})
