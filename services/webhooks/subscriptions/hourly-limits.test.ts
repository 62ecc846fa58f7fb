import { afterEach, beforeEach, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { EVENT_CATALOGUE } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { PER_HOUR } from './subscription-log.ts'
import type { Subscriptions } from './subscriptions.ts'
import { ADA, aRequest, aWorld, ORIGIN, type World } from './testing/subscriptions.fixture.ts'

let world: World
let subscriptions: Subscriptions
beforeEach(() => {
  world = aWorld()
  subscriptions = world.start().subscriptions
})
afterEach(() => world.closeAll())

const create = async (): Promise<string> =>
  (await subscriptions.create(ADA, aRequest({}), ORIGIN)).subscription.subscriptionId

test('an hour of a subscription takes so many changes, of all kinds and at all processes together', async () => {
  const [id, spared] = [await create(), await create()]
  const other = world.start().subscriptions
  const outcomes: string[] = []
  for (let n = 0; n < LIMITS.subscriptionChangesPerHour; n++) {
    outcomes.push(
      await codeOf(
        n % 2 === 0
          ? subscriptions.pause(ADA, id, ORIGIN)
          : other.resume(ADA, id, { from: 'cursor' }, ORIGIN),
      ),
    )
  }
  expect(new Set(outcomes)).toEqual(new Set(['none']))
  await expect(subscriptions.rotateSecret(ADA, id, 0, ORIGIN)).rejects.toMatchObject({
    code: 'rate_limited',
    message: expect.stringContaining(`${LIMITS.subscriptionChangesPerHour} changes of a subscription`),
  })
  expect(await codeOf(other.pause(ADA, id, ORIGIN))).toBe('rate_limited')
  expect(await codeOf(subscriptions.pause(ADA, spared, ORIGIN))).toBe('none')
  world.now += HOUR_MS
  expect(await codeOf(subscriptions.rotateSecret(ADA, id, 0, ORIGIN))).toBe('none')
})

test('one that has had them is removed all the same', async () => {
  const id = await create()
  for (let n = 0; n < LIMITS.subscriptionChangesPerHour; n++)
    await subscriptions.rotateSecret(ADA, id, 0, ORIGIN)
  expect(await codeOf(subscriptions.rotateSecret(ADA, id, 0, ORIGIN))).toBe('rate_limited')
  await subscriptions.remove(ADA, id, ORIGIN)
})

/** Why an hour takes every one of these. */
const UNLIMITED = {
  'once for each slot, which the account counts': 'SubscriptionCreated',
  'ends what began, and each beginning is counted': 'SubscriptionRemoved',
  'comes from the endpoint or the operator': 'SubscriptionDisabled SubscriptionAllowed',
}

test('every event of a subscription has a limit, or a reason to have none', () => {
  const types = Object.values(EVENT_CATALOGUE).flatMap(({ type, stream }) =>
    stream === 'subscription-{subscription}' ? [type] : [],
  )
  expect(Object.keys(PER_HOUR).toSorted()).toEqual(types.toSorted())
  const unlimited = Object.entries(PER_HOUR).flatMap(([type, perHour]) =>
    perHour === Number.POSITIVE_INFINITY ? [type] : [],
  )
  expect(unlimited.toSorted()).toEqual(Object.values(UNLIMITED).join(' ').split(' ').toSorted())
})
