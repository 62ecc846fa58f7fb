import { z } from 'zod'

/** Exchange codes. `SIM` is the simulated market, so that no simulated verdict can pass for a real one. */
export const EXCHANGES = [
  'SIM',
  'BINANCE',
  'BYBIT',
  'OKX',
  'BITGET',
  'HL',
  'GATE',
  'KUCOIN',
  'MEXC',
  'BINGX',
  'HTX',
  'PHEMEX',
  'ASTER',
  'WHITEBIT',
  'XT',
] as const

export type Exchange = (typeof EXCHANGES)[number]

export const exchangeSchema = z.enum(EXCHANGES).describe('Exchange code')

export const isExchange = (value: string): value is Exchange =>
  (EXCHANGES as readonly string[]).includes(value)
