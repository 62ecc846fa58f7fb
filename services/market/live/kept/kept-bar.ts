import { type Candle, candleFault } from '../../../../contracts/candle.ts'

/** Trading within a bar beyond its prices, as the venue states it; NaN when it does not. */
export interface OrderFlow {
  /** Coins that takers bought; the rest of the volume they sold. */
  readonly takerBuyVolume: number
  readonly trades: number
  /** Value of the open positions, quote currency, as it stood when the venue was asked within the bar. */
  readonly openInterest: number
  /** The price that positions were valued at then. */
  readonly mark: number
}

export interface KeptBar extends Candle, OrderFlow {}

/** The columns of the files, in order. All but the first six may be empty. */
export const KEPT_COLUMNS = [
  'ts',
  'open',
  'high',
  'low',
  'close',
  'volume',
  'taker_buy_volume',
  'trades',
  'open_interest',
  'mark',
] as const

/** The columns beyond those of a candle. */
export const FLOW_COLUMNS = KEPT_COLUMNS.slice(6)

export const KEPT_HEADER = KEPT_COLUMNS.join(',')

const atLeast = (least: number, value: number): number =>
  Number.isFinite(value) && value >= least ? value : Number.NaN

/** A bar with what was said of it, as far as that can be: takers cannot buy more than was traded. */
export function keptBar(bar: Candle, flow: Partial<OrderFlow> = {}): KeptBar {
  const { takerBuyVolume = Number.NaN, trades = Number.NaN, openInterest = Number.NaN, mark = 0 } = flow
  return {
    ...bar,
    takerBuyVolume: takerBuyVolume <= bar.volume ? atLeast(0, takerBuyVolume) : Number.NaN,
    trades: Number.isSafeInteger(trades) ? atLeast(0, trades) : Number.NaN,
    openInterest: atLeast(0, openInterest),
    mark: mark > 0 ? atLeast(0, mark) : Number.NaN,
  }
}

const cell = (value: number): string => (Number.isNaN(value) ? '' : String(value))

/** One line of a sealed file, without its end. */
export const keptLine = (bar: KeptBar): string =>
  [bar.openTime, bar.open, bar.high, bar.low, bar.close, bar.volume]
    .concat(bar.takerBuyVolume, bar.trades, bar.openInterest, bar.mark)
    .map(cell)
    .join(',')

/** A line that says how long it is, so that one which was cut off cannot pass for another. */
export const checkedLine = (bar: KeptBar): string => {
  const line = keptLine(bar)
  return `${line},${line.length}\n`
}

/** The bar of a line that {@link checkedLine} made; undefined for any other, the header and torn ones among them. */
export function readCheckedLine(line: string): KeptBar | undefined {
  const end = line.lastIndexOf(',')
  return Number(line.slice(end + 1)) === end ? readKeptLine(line.slice(0, end)) : undefined
}

export function readKeptLine(line: string): KeptBar | undefined {
  const cells = line.split(',').map((text) => (text === '' ? Number.NaN : Number(text)))
  if (cells.length !== KEPT_COLUMNS.length) return undefined
  const [openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = cells
  const [takerBuyVolume, trades, openInterest, mark] = cells.slice(6)
  const bar = { openTime, open, high, low, close, volume }
  if (candleFault(bar) !== undefined) return undefined
  return keptBar(bar, {
    takerBuyVolume: takerBuyVolume ?? Number.NaN,
    trades: trades ?? Number.NaN,
    openInterest: openInterest ?? Number.NaN,
    mark: mark ?? Number.NaN,
  })
}
