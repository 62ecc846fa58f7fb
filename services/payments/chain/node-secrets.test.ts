import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { nonceNumber } from '../testing/sign-payment.ts'
import { createChain } from './create-chain.ts'

/** As node providers have it: the key stands in the address, and errors repeat the address. */
const KEY = 'b6f1c2d3e4a5'
const key = { payer: '0x1111111111111111111111111111111111111111', nonce: nonceNumber(1) } as const

let server: Server
let rpcUrl: string
/** The answers of the node, by the address that it was asked under. */
let answer: (path: string, asked: readonly Asked[]) => { status: number; body: string }

interface Asked {
  readonly id: number
  readonly method: string
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part) => (text += String(part)))
    request.on('end', () => {
      const asked = [JSON.parse(text) as Asked | Asked[]].flat()
      const { status, body } = answer(request.url ?? '', asked)
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  rpcUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/${KEY}?token=${KEY}x`
})
afterAll(() => void server.close())

/** An answer to all that was asked at once. */
function answers(asked: readonly Asked[], to: (one: Asked) => object): string {
  const all = asked.map((one) => ({ jsonrpc: '2.0', id: one.id, ...to(one) }))
  return JSON.stringify(all.length === 1 ? all[0] : all)
}

const ANSWERS: readonly (readonly [string, typeof answer])[] = [
  ['an HTTP error', (path) => ({ status: 500, body: JSON.stringify(path) })],
  ['no JSON', (path) => ({ status: 200, body: path })],
  [
    'an error of JSON-RPC',
    (path, asked) => ({
      status: 200,
      body: answers(asked, () => ({ error: { code: -32_005, message: `limit of ${path}` } })),
    }),
  ],
]

test.each(ANSWERS)('%s that repeats the address of the node does not show its key', async (_, refuse) => {
  answer = refuse
  const chain = createChain({ on: BASE, rpcUrl, elapsed: () => performance.now() })
  const failure: unknown = await chain.payerStatus(key, 0n).catch((error: unknown) => error)
  if (!isServiceError(failure, 'payments_unavailable')) throw new Error(String(failure))
  expect(failure.message).not.toContain(KEY)
  expect(failure.message).toContain('The node of the chain did not tell')
})
