import { describe, expect, test } from 'vitest'
import { isServiceError } from '../../../contracts/errors.ts'
import { addressOf, type ChannelRequest, restAfter, shownAddress, withAskedWait } from './chat-channel.ts'
import { bench, requestTo, useSenderBench } from './testing/sender-bench.fixture.ts'

const TOKEN = '123456789:AAF-abcdefghijklmnopqrstuvwxyz012345'
const url = 'https://hooks.example.com/services/T0/B0/s3cret'

useSenderBench()

/** Outcome of an answer that a double of a chat service gives. */
async function heard(status: string, headers: Readonly<Record<string, string>>, body: string) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = status.startsWith('204') ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  const { port } = await bench.answering(`HTTP/1.1 ${status}\r\n${lines.join('')}${length}\r\n${body}`)
  return withAskedWait(await bench.senderOf().send(requestTo(port)))
}

describe('answers of a double', () => {
  test.each([
    ['204 No Content', { 'X-RateLimit-Remaining': '4', 'X-RateLimit-Reset-After': '1.5' }, '', 0],
    ['204 No Content', { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset-After': '1.5' }, '', 1_500],
    ['429 Too Many Requests', { 'Retry-After': '65' }, '{"retry_after":64.57,"global":false}', 65_000],
    ['429 Too Many Requests', {}, '{"message":"slow down","retry_after":0.2,"global":false}', 200],
    ['404 Not Found', {}, '{"message":"Unknown Webhook","code":10015}', 0],
  ])('Discord: %s %j', async (status, headers, body, restMs) => {
    const outcome = await heard(status, headers, body)
    expect(outcome).toMatchObject({ kind: 'answered', status: Number(status.slice(0, 3)) })
    expect(restAfter('discord', url, outcome)).toBe(restMs)
  })

  test.each([
    ['200 OK', {}, 'ok', 1_000],
    ['429 Too Many Requests', { 'Retry-After': '30' }, 'rate_limited', 30_000],
    ['404 Not Found', {}, 'no_service', 1_000],
  ])('Slack: %s %j', async (status, headers, body, restMs) => {
    expect(restAfter('slack', url, await heard(status, headers, body))).toBe(restMs)
  })

  test('Telegram says in the body when to come again, and groups are told less often', async () => {
    const told =
      '{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}'
    const outcome = await heard('429 Too Many Requests', {}, told)
    expect(outcome.retryAfterMs).toBe(7_000)
    expect(restAfter('telegram', url, outcome)).toBe(7_000)
    const taken = await heard('200 OK', {}, '{"ok":true,"result":{"message_id":1}}')
    const at = (chat_id: string) => addressOf({ form: 'telegram', bot_token: TOKEN, chat_id })
    expect(restAfter('telegram', at('42'), taken)).toBe(1_000)
    expect(restAfter('telegram', at('-10042'), taken)).toBe(3_000)
    expect(restAfter('telegram', at('@channel'), taken)).toBe(3_000)
  })
})

describe('an address', () => {
  test('is that of the chat, and is shown without what it is a key by', () => {
    const address = addressOf({ form: 'telegram', bot_token: TOKEN, chat_id: -42 })
    expect(address).toBe(`https://api.telegram.org/bot${TOKEN}/sendMessage?chat_id=-42`)
    expect(shownAddress(address, 'telegram')).toBe('https://api.telegram.org')
    expect(shownAddress(url, 'slack')).toBe('https://hooks.example.com')
    expect(shownAddress(url, null)).toBe(url)
  })

  test.each([
    ['url', {}],
    ['url', { form: 'slack' }],
    ['url', { form: 'telegram', url, bot_token: TOKEN, chat_id: 1 }],
    ['bot_token', { form: 'telegram', chat_id: 1 }],
    ['bot_token', { form: 'telegram', bot_token: `${TOKEN}/../x`, chat_id: 1 }],
    ['bot_token', { form: 'discord', url, bot_token: TOKEN }],
    ['chat_id', { form: 'telegram', bot_token: TOKEN, chat_id: 'a&b' }],
    ['chat_id', { url, chat_id: 1 }],
  ] satisfies [string, ChannelRequest][])('is refused by its field: %s of %j', (field, request) => {
    try {
      addressOf(request)
      expect.unreachable()
    } catch (error) {
      if (!isServiceError(error, 'invalid_request')) throw error
      expect(error.details).toMatchObject({ fields: [{ field }] })
      expect(JSON.stringify([error.message, error.details])).not.toMatch(/s3cret|AAF-/)
    }
  })
})
