import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { scanFundingArbRequest } from '../../../contracts/tools/scan-funding-arb.ts'
import { createFundingRates, FUNDING_HISTORY_DAYS } from '../../../services/engine/funding/funding-rates.ts'
import { scanFundingArb } from '../../../services/engine/funding/scan-funding-arb.ts'
import { isDataAbsent, RECORDED_DATA, whenPresent } from '../../../services/market/testing/recorded-data.ts'
import { fundingRecords, type PairRecord } from './funding-record.ts'
import { fundingTable } from './funding-table.ts'
import { readFundingFolder } from './read-funding-folder.ts'
import { walkFunding } from './walk-funding.ts'

const FEES_BPS = 20
const page = readFileSync(new URL('../../../docs/funding.md', import.meta.url), 'utf8')

describe.skipIf(isDataAbsent)(`the funding scan on recorded settlements${whenPresent}`, () => {
  const settlements = isDataAbsent ? [] : readFundingFolder(RECORDED_DATA)
  const recordsOf = (period: { readonly fromMs?: number; readonly toMs?: number }): PairRecord[] =>
    fundingRecords(
      walkFunding({ settlements, keepDays: FUNDING_HISTORY_DAYS, holdingHours: 168, ...period }),
      FEES_BPS,
    )
  const all = recordsOf({})
  /** When the four exchanges have history at the same time. */
  const together = recordsOf({ fromMs: Date.UTC(2023, 5, 1), toMs: Date.UTC(2024, 5, 24) })
  const find = (records: readonly PairRecord[], name: string): PairRecord =>
    records.find((record) => record.name === name) ?? expect.fail(`no record of ${name}`)

  test.each(['BTC', 'ETH'])('%s: Hyperliquid–Binance persists and is worth recommending', (coin) => {
    for (const records of [all, together]) {
      const { persistence, rankCorrelation, recommended } = find(records, `${coin} HL–BINANCE`)
      expect(persistence).toBeGreaterThan(0.55)
      expect(rankCorrelation).toBeGreaterThan(0.35)
      expect(recommended.share).toBeGreaterThan(0.2)
      expect(recommended.realisedBps).toBeGreaterThan(5)
      expect(recommended.wonShare).toBeGreaterThan(0.5)
      // What was expected is about what was paid.
      expect(Math.abs(recommended.expectedBps - recommended.realisedBps)).toBeLessThan(3)
    }
  })

  test.each(['BTC BYBIT–BINANCE', 'ETH BYBIT–BINANCE', 'BTC OKX–BINANCE', 'ETH OKX–BINANCE'])(
    '%s is noise at the same time: never recommended, and a loss for who follows the newest rates',
    (name) => {
      const { recommended, always, byNewestRates, days } = find(together, name)
      expect(days).toBeGreaterThan(350)
      expect(recommended.share).toBe(0)
      expect(always.realisedBps).toBeLessThan(-15)
      expect(byNewestRates.share).toBeGreaterThan(0.05)
      expect(byNewestRates.realisedBps).toBeLessThan(-10)
    },
  )

  test.each(['BTC', 'ETH'])('%s: Bybit and OKX persist less than Hyperliquid over all years', (coin) => {
    const ofHyperliquid = find(all, `${coin} HL–BINANCE`)
    expect(find(all, `${coin} OKX–BINANCE`).recommended.share).toBe(0)
    for (const exchange of ['BYBIT', 'OKX']) {
      const { persistence, recommended } = find(all, `${coin} ${exchange}–BINANCE`)
      expect(persistence).toBeLessThan(ofHyperliquid.persistence - 0.15)
      expect(recommended.share).toBeLessThan(0.1)
    }
  })

  test('is documented with an answer that was given', () => {
    const nowMs = Date.UTC(2023, 10, 20, 0, 30)
    const rates = createFundingRates({ keepDays: FUNDING_HISTORY_DAYS })
    for (const update of settlements) if (update.funding.time <= nowMs) rates.take(update)
    const [request, answer] = [...page.matchAll(/```json\n([^`]*)```/g)].map(([, text = '']): unknown =>
      JSON.parse(text),
    )
    expect(scanFundingArb(rates, scanFundingArbRequest.parse(request), nowMs)).toEqual(answer)
  })

  test('is documented with the tables that the study prints', () => {
    const againstBinance = (records: readonly PairRecord[]) =>
      records.filter(({ name }) => name.endsWith('–BINANCE'))
    expect(page).toContain(fundingTable(againstBinance(all)))
    expect(page).toContain(fundingTable(againstBinance(together)))
  })
})
