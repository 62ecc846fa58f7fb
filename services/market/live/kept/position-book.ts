import type { Coin } from '../../../../contracts/series.ts'
import { MINUTE_MS } from '../../../../contracts/timeframes.ts'
import type { Venue } from '../venue.ts'
import type { OrderFlow } from './kept-bar.ts'

/** Open interest and mark of all coins of a venue, asked for now and then. */
export interface PositionBook {
  /** Positions of a coin at an instant from `from` on and before `until`, Unix milliseconds. */
  during(coin: Coin, from: number, until: number): Partial<OrderFlow>
  /** Asks, where it is time to; nobody waits for it. */
  refresh(): void
}

/** How often: a request or two for all coins. */
const EVERY_MS = 5 * MINUTE_MS

/** Number of remembered samples: a bar comes a few seconds after its close. */
const REMEMBERED = 3

type Positions = Partial<Pick<OrderFlow, 'openInterest' | 'mark'>>

export interface PositionBookOptions {
  readonly venue: Pick<Venue, 'turnovers' | 'publishesPositions'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onFailure: (error: unknown) => void
}

/** @example const book = createPositionBook({ venue, now: Date.now, onFailure }) */
export function createPositionBook({ venue, now, onFailure }: PositionBookOptions): PositionBook {
  const never = new AbortController().signal
  let samples: { readonly at: number; readonly byCoin: ReadonlyMap<Coin, Positions> }[] = []
  let asked = Number.NaN

  async function ask(): Promise<void> {
    try {
      const all = await venue.turnovers(never)
      const byCoin = new Map(all.map(({ coin, openInterest, mark }) => [coin, { openInterest, mark }]))
      // As of the answer: it is nobody's future then.
      samples = [...samples, { at: now(), byCoin }].slice(-REMEMBERED)
    } catch (error) {
      onFailure(error)
    }
  }

  return {
    during: (coin, from, until) =>
      samples.findLast(({ at }) => at >= from && at < until)?.byCoin.get(coin) ?? {},
    refresh() {
      const turn = Math.floor(now() / EVERY_MS)
      if (!venue.publishesPositions || turn === asked) return
      asked = turn
      void ask()
    },
  }
}
