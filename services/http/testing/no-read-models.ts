import { ServiceError } from '../../../contracts/errors/errors.ts'
import { START } from '../../../contracts/infra/position.ts'
import { createBoard } from '../../analyst/index.ts'
import type { ServerOptions } from '../../composition/server.ts'

/** A server's read models in tests that do not ask them: no markets, an empty track record, and no verdict to verify. */
export const NO_READ_MODELS: Pick<
  ServerOptions,
  | 'trackRecord'
  | 'speech'
  | 'regimeShifts'
  | 'verify'
  | 'markets'
  | 'usage'
  | 'board'
  | 'seriesHistory'
  | 'recordMonths'
  | 'recordCoins'
> = {
  trackRecord: () => ({ asOf: START, rows: [], next: undefined }),
  speech: () => [],
  board: createBoard({
    market: 'simulated',
    newest: () => [],
    decided: () => undefined,
    marketNow: () => 0,
    staleAfterMs: 0,
    now: () => 0,
  }),
  recordMonths: () => [],
  recordCoins: () => [],
  seriesHistory: async ({ series }) => ({
    market: 'simulated',
    market_time: '1970-01-01T00:00:00.000Z',
    series,
    newest_regime: null,
    rows: [],
    withheld: 0,
    next: null,
  }),
  regimeShifts: () => ({ asOf: START, rows: [], next: undefined }),
  markets: {
    markets: async () => [],
    newestBar: () => undefined,
    isRecorded: () => undefined,
    isMonitored: () => undefined,
    clock: () => 0,
  },
  usage: () => Promise.reject(new ServiceError('unauthorized')),
  verify: () => Promise.reject(new ServiceError('not_found')),
}
