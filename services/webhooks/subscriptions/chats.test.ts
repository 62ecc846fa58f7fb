import { afterEach, beforeEach, expect, test } from 'vitest'
import { codeOf } from '../../../contracts/code-of.fixture.ts'
import type { ChannelRequest } from '../sending/chat-channel.ts'
import type { Subscriptions } from './subscriptions.ts'
import { ADA, aRequest, aWorld, ORIGIN, type World } from './testing/subscriptions.fixture.ts'

const KEY = 'AAF-abcdefghijklmnopqrstuvwxyz012345'
let world: World
let subscriptions: Subscriptions
beforeEach(() => {
  world = aWorld()
  subscriptions = world.start().subscriptions
})
afterEach(() => world.closeAll())

const create = (channel: ChannelRequest, idempotencyKey?: string) =>
  subscriptions.create(ADA, aRequest({ url: undefined, ...channel }), { idempotencyKey }, ORIGIN)

test.each([
  [{ form: 'slack', url: `https://hooks.example.com/services/${KEY}` }, 'https://hooks.example.com'],
  [{ form: 'discord', url: `https://discord.com/api/webhooks/1/${KEY}` }, 'https://discord.com'],
  [{ form: 'telegram', bot_token: `123456789:${KEY}`, chat_id: -42 }, 'https://api.telegram.org'],
] satisfies [ChannelRequest, string][])(
  'a channel is made, told a sample, and its key is shown nowhere: %j',
  async (channel, origin) => {
    const made = await create(channel, 'once')
    const id = made.subscription.subscriptionId
    const shown = [made, await create(channel, 'once'), await subscriptions.show(ADA, id)]
    const { rows } = await subscriptions.list(ADA, { status: 'all', limit: 10 })
    expect([...shown, ...rows].map(({ url }) => url)).toEqual([origin, origin, origin, origin])
    expect(JSON.stringify([...shown, rows]) + world.text() + world.reports.join()).not.toContain(KEY)

    expect(await subscriptions.test(ADA, id)).toMatchObject({ isAccepted: true })
    expect(world.sent[0]?.url).toContain(KEY)
    const said = Buffer.from(world.sent[0]?.body ?? []).toString()
    expect(said).toMatch(/A test, and no call: BUY BTC on SIM, 1h.*\/series\/SIM\/BTC\/1h/)
  },
)

test('what does not go together is refused, and nothing is made', async () => {
  expect(await codeOf(create({ form: 'telegram', bot_token: KEY, chat_id: 1 }))).toBe('invalid_request')
  expect(await codeOf(create({ form: 'slack', url: 'http://hooks.example.com/x' }))).toBe('url_refused')
  expect((await subscriptions.list(ADA, { status: 'all', limit: 10 })).rows).toEqual([])
})
