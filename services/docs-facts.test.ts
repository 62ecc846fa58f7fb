import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EXCHANGES } from '../contracts/exchanges.ts'
import { LIMITS } from '../contracts/limits.ts'
import { PLAN_DAYS, PLAN_LIMITS } from '../contracts/plans.ts'
import { PRICES } from '../contracts/prices.ts'
import { TIMEFRAMES } from '../contracts/timeframes.ts'
import { loadModel } from './engine/index.ts'
import { SETTINGS } from './platform/config/settings.ts'

const DOCS = resolve(import.meta.dirname, '../docs')

/** A section of a page, in one line. */
function section(page: string, heading: string): string {
  const text = readFileSync(join(DOCS, `${page}.md`), 'utf8')
  const [, rest = ''] = text.split(`\n## ${heading}\n`)
  return (rest.split('\n## ')[0] ?? '').replaceAll(/\s+/g, ' ')
}

const grouped = (count: number): string => count.toLocaleString('en-US')
const usdc = (micro: bigint): string => String(Number(micro) / 1_000_000)
const { free, starter, pro } = PLAN_LIMITS

describe('what the first answers for customers say in words is what the code does:', () => {
  test('prices, plans and the free allowance', () => {
    const cost = section('prices', 'How much does it cost?')
    expect(cost).toContain(
      `nothing for ${free.callsPerWindow} calls a month (at most ${free.callsPerDay} a day)`,
    )
    expect(cost).toContain(
      `${usdc(PRICES['plans/starter'])} USD for ${grouped(starter.callsPerWindow)} calls`,
    )
    expect(cost).toContain(`${usdc(PRICES['plans/pro'])} USD for ${grouped(pro.callsPerWindow)} calls`)
    expect(cost).toContain(`within ${PLAN_DAYS} days`)
    const trial = section('faq', 'Is there a free trial, and what is free?')
    expect(trial).toContain(`${free.callsPerWindow} calls a month, at most ${free.callsPerDay} a day`)
    expect(trial).toContain(`up to ${LIMITS.subscriptionsOnFree} webhook subscriptions`)
  })

  test('exchanges', () => {
    const exchanges = section('faq', 'Which exchanges do you cover?')
    expect(EXCHANGES.filter((code) => !exchanges.includes(`\`${code}\``))).toEqual([])
    expect(EXCHANGES.length - 1).toBe(14)
  })

  test('timeframes that make calls, and those that always answer HOLD', () => {
    const { timeframes } = loadModel()
    const speaking = TIMEFRAMES.filter((timeframe) => timeframes[timeframe].skill)
    const silent = TIMEFRAMES.filter((timeframe) => !timeframes[timeframe].skill)
    const listed = (some: readonly string[]): string => `${some.slice(0, -1).join(', ')} and ${some.at(-1)}`
    const hold = section('faq', 'Why does it say HOLD so often?')
    expect(hold).toContain(`calls are made at ${listed(speaking)}, while ${listed(silent)} answer HOLD`)
    const which = section('faq', 'Which timeframe should I ask for?')
    expect(which).toContain(`(${silent.join(', ')})`)
  })

  test('keys', () => {
    const keys = section('faq', 'Can several people or machines use one key?')
    expect(keys).toContain(`an account may have ${LIMITS.keysPerAccount}`)
    expect(keys).toContain(`at most ${SETTINGS.RATE_PER_KEY.example} requests a second`)
  })
})
