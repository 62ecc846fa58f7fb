import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventOf } from '../../../contracts/events/event-catalogue.ts'
import { modelStream } from '../../../contracts/events/streams.ts'
import { createServer } from '../../composition/server.ts'
import { rateLimitsOn } from '../../http/testing/rate-limits.fixture.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { audit, type LogSource } from '../../proof/index.ts'
import { signCheckpoint } from '../../proof/note.ts'
import { loadLogKeys, signersOf } from '../../proof/signing/keys.ts'
import { type MadeUpLog, nextId, openMadeUpLog } from '../../proof/testing/made-up-log.fixture.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'
import { openService } from '../kit/service.ts'
import { auditTools, serviceSource } from './audit.ts'

const TILE = 256
let directory: string
/** The clock of the limits moves only where the client waits. */
let time = 0
let waits: string[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'audit-http-'))
  waits = []
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const sourceAt = (url: string): LogSource => {
  const onRetry = (why: string, waitMs: number) => {
    waits.push(`${waitMs} ms: ${why}`)
    time += waitMs
  }
  return serviceSource(openService({ url, onRetry }, new AbortController().signal))
}

const auditOf = (log: MadeUpLog, source: LogSource) =>
  audit({ source, keys: log.keys(), seen: undefined, tools: auditTools(source) })

async function grow(log: MadeUpLog, entries: number): Promise<void> {
  const meta = { correlationId: 'test', actor: 'engine' }
  const start = log.tree.size()
  const events = Array.from({ length: entries }, (_, at) => {
    const modelVersion = `m-${start + at}`
    const data = { modelVersion, sha256: '7d'.repeat(32), bytes: 1, role: 'serving' } as const
    return eventOf({ type: 'ModelAnnounced', data }, { id: nextId(), meta })
  })
  for (let at = 0; at < entries; at += TILE)
    await log.append(modelStream('many'), events.slice(at, at + TILE))
  expect(await log.sign()).toBeUndefined()
}

/** The routes of a service over a log, with the limits that a service has unless told. */
const serve = (log: MadeUpLog): Promise<FastifyInstance> => {
  return createServer(
    serverOptions({
      rateLimits: rateLimitsOn(() => time),
      trackRecord: () => ({ asOf: '1', rows: [], next: undefined }),
      transparencyLog: log.views,
    }),
  )
}

describe('a log of 150 tiles behind the limits of a service', () => {
  let log: MadeUpLog
  let app: FastifyInstance
  let url: string
  beforeAll(async () => {
    log = await openMadeUpLog()
    await grow(log, 150 * TILE)
    app = await serve(log)
    url = await app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(async () => {
    await app?.close()
    log?.remove()
  })

  test('is audited to its end, at the pace that the service asks for', async () => {
    const report = await auditOf(log, sourceAt(url))
    expect([report.findings, report.size > 150 * TILE]).toEqual([[], true])
    expect(waits.length).toBeGreaterThan(1)
    expect(new Set(waits.map((wait) => wait.slice(0, 21)))).toEqual(new Set(['1000 ms: rate_limited']))
  })
})

test('a proof file that is too long, or none, is not read', async () => {
  const vkey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
  const file = join(directory, 'long')
  writeFileSync(file, Buffer.alloc(4_000_001, 32))
  const long = await runSignal('verify', '--proof', file, '--vkey', vkey)
  expect(long.err).toContain('longer than 4000000 bytes')
  expect((await runSignal('verify', '--proof', directory, '--vkey', vkey)).err).toContain('is no file')
})

describe('a log that means harm', () => {
  let log: MadeUpLog
  let app: FastifyInstance
  let server: Server
  let url: string
  /** Answers in place of the service. */
  let lie: (request: IncomingMessage, response: ServerResponse) => boolean
  beforeEach(async () => {
    log = await openMadeUpLog()
    await grow(log, 8 * TILE)
    app = await serve(log)
    await app.ready()
    lie = () => false
    server = createHttpServer((request, response) => {
      if (lie(request, response)) return
      app.inject({ method: 'GET', url: request.url ?? '' }, (_error, answer) => {
        response.writeHead(answer?.statusCode ?? 500).end(answer?.rawPayload)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    server.close()
    await app.close()
    log.remove()
  })

  const record = (next: unknown): string =>
    JSON.stringify({ as_of: '1', group_by: 'timeframe', notice: 'x', rows: [], next })
  const liesAt = (begin: string, answer: (response: ServerResponse, request: IncomingMessage) => void) => {
    lie = (request, response) => {
      if (request.url?.startsWith(begin) !== true) return false
      answer(response, request)
      return true
    }
  }
  const hostileAudit = () => auditOf(log, sourceAt(url))

  test.each([
    'x/../../../../victim/.profile',
    '../../../victim',
    '/etc/passwd',
    'http://127.0.0.1:1/x',
    'x\u0000y',
    'x&limit=1',
    'x#y',
    '%2e%2e%2f',
    '',
    'x'.repeat(257),
    '\ud800',
    17,
    {},
  ])('writes nothing where the next page is %j', async (next) => {
    liesAt('/api/track-record', (response) => void response.end(record(next)))
    await expect(hostileAudit()).rejects.toMatchObject({ code: 'proof_invalid' })
    expect(readdirSync(directory)).toEqual([])
  })

  test('is not followed in a circle, nor for ever', async () => {
    let pages = 0
    liesAt('/api/track-record', (response) => void response.end(record(`${(pages += 1) % 3}`)))
    await expect(hostileAudit()).rejects.toThrow('has more than 100 pages')
    expect(pages).toBe(100)
  })

  test.each([
    [
      'more bytes than are read',
      (response: ServerResponse) => {
        const chunk = Buffer.alloc(1_048_576, 32)
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
          response.once('drain', more)
        }
        more()
      },
    ],
    [
      'a few packed ones',
      (response: ServerResponse) =>
        void response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(100 * 1_048_576))),
    ],
  ])('sends %s', async (_name, answer) => {
    liesAt('/log/contents/', answer)
    await expect(hostileAudit()).rejects.toThrow(/more than 16777216 bytes/)
  })

  test.each(['file:///etc/passwd', 'http://169.254.169.254/latest', '/log/checkpoint'])(
    'sends us to %s',
    async (location) => {
      liesAt('/log/tile', (response) => void response.writeHead(302, { location }).end())
      await expect(hostileAudit()).rejects.toMatchObject({ code: 'server_unreachable' })
    },
  )

  test.each([
    ['no time, each time', '0', 3],
    ['until the next century', '3000000000', 1],
    ['at a time that is none', 'soon', 3],
  ])('asks us to wait %s', async (_name, retryAfter, asked) => {
    let count = 0
    liesAt('/log/tile', (response) => {
      count += 1
      response.writeHead(429, { 'retry-after': retryAfter }).end()
    })
    await expect(hostileAudit()).rejects.toMatchObject({
      code: 'server_unreachable',
      message: expect.stringContaining('HTTP 429') as string,
    })
    expect(count).toBe(asked)
  })

  test('has no bars of a series is not asked for them again and again', async () => {
    let count = 0
    liesAt('/api/bars', (response) => {
      count += 1
      response.writeHead(503).end(JSON.stringify({ code: 'market_data_missing', message: 'no such market' }))
    })
    const series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' } as const
    expect(await auditTools(sourceAt(url)).barsOf(series, 0, 3_600_000)).toBeUndefined()
    expect([count, waits]).toEqual([1, []])
  })

  test('cuts the line is asked again, and left alone at last', async () => {
    let count = 0
    liesAt('/log/tile', (response, request) => {
      count += 1
      if (count < 3) response.destroy()
      else app.inject({ url: request.url ?? '' }, (_error, answer) => void response.end(answer?.rawPayload))
    })
    expect((await hostileAudit()).findings).toEqual([])
    liesAt('/log/tile', (response) => void response.destroy())
    await expect(hostileAudit()).rejects.toMatchObject({ code: 'server_unreachable' })
    await expect(auditOf(log, sourceAt('http://127.0.0.1:1'))).rejects.toThrow(/no answer from/)
  })

  test.each([
    ['narrower', (bytes: Buffer) => bytes.subarray(44)],
    ['wider', (bytes: Buffer) => Buffer.concat([bytes, bytes.subarray(0, 44)])],
    [
      'of entries of another length',
      (bytes: Buffer) => {
        bytes.writeUInt16BE(43, 0)
        return bytes
      },
    ],
    ['empty', () => Buffer.alloc(0)],
  ])('gives tiles that are %s', async (_name, change) => {
    liesAt('/log/tile/entries/000', (response, request) => {
      app.inject({ url: request.url ?? '' }, (_error, answer) => {
        response.end(change(Buffer.from(answer?.rawPayload ?? Buffer.alloc(0))))
      })
    })
    await expect(hostileAudit()).rejects.toMatchObject({ code: 'proof_invalid' })
  })

  test.each([
    ['go on a moment later', [0], '1'],
    ['go on where they began', [0], '0'],
    ['go on nowhere', [0], 'x'],
    ['go on behind their end', [0], String(900 * 3_600_000)],
    ['are not in their order', [2, 1], null],
    ['are of other hours', [700], null],
  ])('has bars that %s', async (_name, hours, next) => {
    const series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' } as const
    const bars = hours.map((hour) => ({
      openTime: hour * 3_600_000,
      open: 1,
      high: 1,
      low: 1,
      close: 1,
      volume: 1,
    }))
    const answer = {
      ...series,
      market: 'live',
      source: 'x',
      from: 0,
      to: 1,
      bars,
      gaps: [],
      funding: [],
      next,
    }
    let count = 0
    liesAt('/api/bars', (response) => {
      count += 1
      response.end(JSON.stringify(answer))
    })
    const { barsOf } = auditTools(sourceAt(url))
    await expect(barsOf(series, 0, 600 * 3_600_000)).rejects.toMatchObject({ code: 'proof_invalid' })
    expect(count).toBe(1)
    await expect(barsOf(series, 0, Number.MAX_SAFE_INTEGER)).rejects.toThrow('more than 5000000')
    expect(count).toBe(1)
  })

  test('claims a thousand million entries', async () => {
    const keys = loadLogKeys({
      given: undefined,
      file: join(log.directory, 'log.keys'),
      random: (n) => new Uint8Array(n),
    })
    const [origin = ''] = log.views.checkpoint().split('\n')
    const huge = { origin, size: 1_000_000_000, root: Buffer.alloc(32) }
    liesAt('/log/checkpoint', (response) => void response.end(signCheckpoint(huge, signersOf(keys, origin))))
    await expect(hostileAudit()).rejects.toThrow('too large to be audited here')
  })
})
