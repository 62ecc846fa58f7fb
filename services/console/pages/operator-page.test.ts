import { expect, test } from 'vitest'
import { readinessOf } from '../../http/readiness.ts'
import { operatorPage } from './operator-page.ts'

const HOSTILE = '<script>alert(1)</script>'
const part = (name: string, state: 'ok' | 'degraded' | 'failed', more = {}) => ({
  name,
  state,
  detail: state === 'ok' ? 'well' : HOSTILE,
  isRequired: false,
  more,
})
const by_state = { owed: 2, final: 4_005 }
const textOf = (components: readonly ReturnType<typeof part>[], money = true): string =>
  String(
    operatorPage({
      readiness: readinessOf(components),
      money: money ? { claims: 7, by_state, open: 2, unsettled_usdc: '0.04', debt_usdc: '0' } : undefined,
      payments: money ? [] : undefined,
      reviewed: [],
      looked: 3,
    }).body,
  )

test('what is not well comes first, each with what to do, and what it says is text', () => {
  const text = textOf([part('bus', 'failed'), part('settler', 'degraded', { gas_wei: '12500000000000000' })])
  expect(text.indexOf('Look at NATS')).toBeLessThan(text.indexOf('send ETH to its wallet'))
  expect(text).toContain('0.0125 ETH')
  expect(text).toContain('0.04 USDC served and not settled')
  expect(text).toContain('2 owed, 4,005 final')
  expect(text).not.toContain('<script>')
})

test('venues stand with what is followed there, and read models with their place in the log', () => {
  const series = { HL: { monitored: 90, fresh: 80, stale: 7, closed: 2, loading: 1 } }
  const text = textOf([
    part('market', 'ok', { data_age_ms: 61_000, series }),
    part('venue HL', 'degraded', { data_age_ms: 7_300_000 }),
    part('projection track_record', 'ok', { state: 'live', position: '4711' }),
  ])
  for (const cell of ['90', '80', '7', '2', '2 h', 'track record', '4711'])
    expect(text).toContain(`>${cell}<`)
  expect(text).toContain('asked again by itself')
})

test('where all is well and nothing is sold it says so', () => {
  const text = textOf([part('store', 'ok')], false)
  expect(text).toContain('Nothing: every part is well.')
  expect(text).toContain('nothing is sold here')
  expect(text).toContain('no settler runs in this process')
})
