import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { ServerOptions } from '../../composition/server.ts'
import { readinessOf } from '../routes/health.ts'

const absent = (): never => {
  throw new ServiceError('internal_error', { message: 'this part was not given to the test’s server' })
}

/** Options of a server without anything behind it; give what matters to the test. */
export const serverOptions = (change: Partial<ServerOptions> = {}): ServerOptions => ({
  log: pino({ level: 'silent' }),
  metrics: new Registry(),
  version: '1.2.3',
  market: 'simulated',
  operatorToken: undefined,
  newId: () => 'request',
  readiness: async () => readinessOf([]),
  replay: () => ({ chunks: (async function* () {})(), notes: () => ({}) }),
  follow: async function* () {},
  answerTool: absent,
  board: { read: absent },
  recordMonths: absent,
  recordCoins: absent,
  seriesHistory: absent,
  trackRecord: absent,
  speech: () => [],
  regimeShifts: absent,
  verify: absent,
  usage: absent,
  markets: {
    markets: absent,
    newestBar: absent,
    isRecorded: () => undefined,
    isMonitored: absent,
    clock: absent,
  },
  ...change,
})
