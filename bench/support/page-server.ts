import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { TIMEFRAMES } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { createBoard } from '../../services/analyst/index.ts'
import { createServer } from '../../services/composition/server.ts'
import { NO_READ_MODELS } from '../../services/http/testing/no-read-models.ts'
import { serverOptions } from '../../services/http/testing/server-options.fixture.ts'

export const COINS_OF_BENCH = 40
const NOW = Date.UTC(2026, 0, 1)

/** A server with a board and nothing else behind it. @param isChanging whether it is another one at each look */
export async function createPageServer({
  isChanging,
}: {
  readonly isChanging: boolean
}): Promise<FastifyInstance> {
  const verdicts = Array.from({ length: COINS_OF_BENCH }, (_, n) => `COIN${n}`).flatMap((coin) =>
    TIMEFRAMES.map((timeframe, index) =>
      aVerdict({ coin, timeframe, barClose: NOW, call: index % 3 === 0 ? 'BUY' : 'HOLD' }),
    ),
  )
  let looks = 0
  const [first, ...rest] = verdicts
  const board = createBoard({
    market: 'simulated',
    newest: () =>
      isChanging && first !== undefined ? [{ ...first, confidence: 50 + (looks % 10) }, ...rest] : verdicts,
    decided: () => undefined,
    marketNow: () => NOW,
    staleAfterMs: 60_000,
    // A board looks again once its look is old; where it changes, each is.
    now: () => (isChanging ? ++looks * 60_000 : 0),
  })
  return createServer(serverOptions({ ...NO_READ_MODELS, board }))
}

export async function listen(app: FastifyInstance): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}
