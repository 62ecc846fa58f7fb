import { gzipSync } from 'node:zlib'
import fastify from 'fastify'
import { loadCandidate } from './support/http-load.ts'
import { measure, print, report } from './support/measure.ts'
import { COINS_OF_BENCH, createPageServer, listen } from './support/page-server.ts'

/**
 * Cost of a visit: the board of many series beside a plain answer of the same bytes, and how large it is. The board is
 * rendered once for every version of it; `changing` gives it another version for each look, as if bars closed all the time.
 *
 * node bench/pages.bench.ts          BENCH_ROUNDS=3 BENCH_SECONDS=1
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const HEADERS = { accept: 'text/html' }
const PLAIN = 'a plain answer of the same bytes'

const still = await createPageServer({ isChanging: false })
const changing = await createPageServer({ isChanging: true })
const text = (await still.inject({ url: '/', headers: HEADERS })).body
const plain = fastify()
plain.get('/', async (_request, reply) => reply.type('text/html; charset=utf-8').send(text))

const targets = [
  { name: PLAIN, url: await listen(plain) },
  { name: 'the board, as most see it', url: await listen(still) },
  { name: 'the board, changing all the time', url: await listen(changing) },
]
print(
  `the board of ${COINS_OF_BENCH} coins at 11 timeframes: ${Buffer.byteLength(text)} bytes, ${gzipSync(text).length} compressed`,
)
report(
  'visits of the board, 16 connections',
  'pages/s',
  await measure(
    targets.map(({ name, url }) =>
      loadCandidate(name, { url: `${url}/`, headers: HEADERS, connections: 16, seconds: SECONDS }),
    ),
    ROUNDS,
  ),
  PLAIN,
)
await Promise.all([still.close(), changing.close(), plain.close()])
