import type { LiveExchange } from '../venues.ts'
import type { VenueFormat } from './venue-format.ts'
import { asterFormat } from './venues/aster-format.ts'
import { binanceFormat } from './venues/binance-format.ts'
import { bingxFormat } from './venues/bingx-format.ts'
import { bitgetFormat } from './venues/bitget-format.ts'
import { bybitFormat } from './venues/bybit-format.ts'
import { gateFormat } from './venues/gate-format.ts'
import { htxFormat } from './venues/htx-format.ts'
import { hyperliquidFormat } from './venues/hyperliquid-format.ts'
import { kucoinFormat } from './venues/kucoin-format.ts'
import { mexcFormat } from './venues/mexc-format.ts'
import { okxFormat } from './venues/okx-format.ts'
import { phemexFormat } from './venues/phemex-format.ts'
import { whitebitFormat } from './venues/whitebit-format.ts'
import { xtFormat } from './venues/xt-format.ts'

/** How each venue writes its answers. */
export const VENUE_FORMATS: Readonly<Record<LiveExchange, VenueFormat>> = {
  BINANCE: binanceFormat,
  BYBIT: bybitFormat,
  OKX: okxFormat,
  BITGET: bitgetFormat,
  HL: hyperliquidFormat,
  GATE: gateFormat,
  KUCOIN: kucoinFormat,
  MEXC: mexcFormat,
  BINGX: bingxFormat,
  HTX: htxFormat,
  PHEMEX: phemexFormat,
  ASTER: asterFormat,
  WHITEBIT: whitebitFormat,
  XT: xtFormat,
}
