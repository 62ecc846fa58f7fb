import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../contracts/json.ts'
import { CHAT_FORMS, type ChatForm } from '../../../contracts/subscription.ts'
import { chatBody } from './chat-channel.ts'

const BASE = 'https://signals.example.com'
const SERIES = { coin: 'BTC', exchange: 'SIM', timeframe: '1h' }
const CALL = { call: 'BUY', confidence: 55, regime: 'TRENDING_UP' }
const MOST: Readonly<Record<ChatForm, number>> = { discord: 2_000, slack: 4_000, telegram: 4_096 }

const messageOf = (form: ChatForm, data: JsonObject) => {
  const body = JSON.parse(chatBody(form, data, BASE).toString()) as Record<string, unknown>
  return { ...body, text: String(body.content ?? body.text) }
}

describe('a message', () => {
  test('says a call in words, with the page of its series', () => {
    expect(messageOf('slack', { type: 'trade_call', ...SERIES, ...CALL }).text).toBe(
      `BUY BTC on SIM, 1h: confidence 55 % that the upper barrier comes first, trending up\n${BASE}/series/SIM/BTC/1h`,
    )
  })

  test('says from where to where a regime shifted', () => {
    const data = { type: 'regime_shift', ...SERIES, ...CALL, prior_regime: 'RANGING' }
    expect(messageOf('telegram', data).text).toBe(
      `BTC on SIM, 1h: regime from ranging to trending up, confidence 55 % that the likelier barrier comes first\n${BASE}/series/SIM/BTC/1h`,
    )
  })

  test.each(CHAT_FORMS)('is one for a digest of 100 rows, within what %s takes', (form) => {
    const calls = Array.from({ length: 100 }, (_, n) => ({ rank: n + 1, coin: `COIN${n}`, ...CALL }))
    const { text } = messageOf(form, { type: 'scan_digest', exchange: 'SIM', timeframe: '1h', calls })
    expect(text.length).toBeLessThanOrEqual(MOST[form])
    const rows = text.split('\n').filter((line) => line.includes('BUY')).length
    expect(rows).toBeGreaterThan(10)
    expect(text).toContain(`\nand ${100 - rows} more\n`)
    expect(text).toContain(`${BASE}/series/SIM/COIN0/1h`)
  })
})

describe('hostile words', () => {
  const hostile = '@everyone <!here> <@1> **b** [a](https://evil.example) &lt;\n/stop #tag'
  const data = { type: 'trade_call', ...SERIES, ...CALL, coin: hostile }

  test('neither mention nor format in Discord', () => {
    const message = messageOf('discord', data)
    expect(message).toMatchObject({ allowed_mentions: { parse: [] } })
    const [said = ''] = message.text.split('\n')
    expect(said).toContain(
      '\\@everyone \\<\\!here\\> \\<\\@1\\> \\*\\*b\\*\\* \\[a\\]\\(https\\:\\/\\/evil\\.example\\)',
    )
  })

  test('are entities in Slack, and no addresses', () => {
    const { text, ...rest } = messageOf('slack', data)
    expect(rest).toMatchObject({ mrkdwn: false, unfurl_links: false })
    expect(text.split('\n')[0]).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)|evil\.example|@everyone/)
  })

  test('are no names, commands, tags or addresses in Telegram, which is told to format nothing', () => {
    const message = messageOf('telegram', data)
    expect(message).not.toHaveProperty('parse_mode')
    expect(message).toMatchObject({ link_preview_options: { is_disabled: true } })
    expect(message.text.split('\n')[0]).not.toMatch(/[@#/]\w|evil\.example/)
  })

  test.each(CHAT_FORMS)('stay on one line, and short, in %s', (form) => {
    const { text } = messageOf(form, { ...data, coin: `\u202e\u0000${'*\n'.repeat(5_000)}` })
    expect(text.split('\n')).toHaveLength(2)
    expect(text.length).toBeLessThanOrEqual(MOST[form])
    expect(text).not.toContain('\u202e')
  })
})
