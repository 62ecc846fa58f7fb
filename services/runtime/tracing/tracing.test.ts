import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attributeOf, type Collector, startCollector } from './collector.fixture.ts'
import { readTraceparent } from './trace-context.ts'
import { createTracing, otlpExporter, type Tracing } from './tracing.ts'

const FROM_A_CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const START = { name: 'GET /livez', kind: 'server' } as const

let collector: Collector
const faults: Error[] = []

const open = (ratio: number, random = 0.5): Tracing =>
  createTracing({
    exporter: otlpExporter({
      endpoint: `${collector.url}/`,
      headers: { authorization: 'Bearer of-the-collector' },
      report: (fault) => faults.push(fault),
    }),
    ratio,
    serviceName: 'signal-service',
    version: '1.2.3',
    processId: 'process-1',
    random: () => random,
    randomBytes,
  })

beforeEach(async () => {
  collector = await startCollector()
  faults.length = 0
})
afterEach(() => collector.close())

describe('what is recorded', () => {
  test('is drawn here: a caller names the trace and cannot have it recorded', async () => {
    const seldom = open(0.01)
    expect(seldom.enter(START, FROM_A_CALLER)).toBeUndefined()
    await seldom.close()
    const always = open(1)
    const span = always.enter(START, FROM_A_CALLER)
    expect(readTraceparent(span?.traceparent)).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      isSampled: true,
    })
    span?.end()
    await always.close()
    expect(collector.spans).toMatchObject([{ parentSpanId: 'b7ad6b7169203331', name: 'GET /livez' }])
  })

  test.each([
    [0, 0, false],
    [1, 0.999_999, true],
    [0.01, 0.009, true],
    [0.01, 0.01, false],
  ])('a share of %s with a draw of %s: %s', async (ratio, random, isRecorded) => {
    const tracing = open(ratio, random)
    expect(tracing.enter(START) !== undefined).toBe(isRecorded)
    await tracing.close()
  })

  test('what follows is recorded where its context is, whatever the share', async () => {
    const tracing = open(0)
    expect(tracing.follow(START, undefined)).toBeUndefined()
    expect(tracing.follow(START, FROM_A_CALLER.replace(/1$/, '0'))).toBeUndefined()
    expect(tracing.follow(START, 'none1')).toBeUndefined()
    const first = tracing.follow({ ...START, startedAt: 1_700_000_000_000 }, FROM_A_CALLER)
    const second = tracing.follow({ ...START, name: 'second' }, first?.traceparent)
    second?.end({ error: 'store_unavailable' })
    first?.end({ attributes: { 'http.response.status_code': 503 } })
    await tracing.close()
    const [sentSecond, sentFirst] = collector.spans
    expect(sentFirst).toMatchObject({ startTimeUnixNano: '1700000000000000000', status: { code: 0 } })
    expect(sentSecond).toMatchObject({ parentSpanId: sentFirst?.spanId, status: { code: 2 } })
    if (sentFirst === undefined || sentSecond === undefined) throw new Error('nothing was sent')
    expect(attributeOf(sentFirst, 'http.response.status_code')).toBe(503)
    expect(attributeOf(sentSecond, 'error.type')).toBe('store_unavailable')
  })
})

describe('the collector', () => {
  test('gets its headers, and who sends', async () => {
    const tracing = open(1)
    tracing.enter(START)?.end()
    await tracing.close()
    expect(collector.exports).toMatchObject([
      { path: '/v1/traces', headers: { authorization: 'Bearer of-the-collector' } },
    ])
    const { resourceSpans } = JSON.parse(collector.exports[0]?.body ?? '') as {
      resourceSpans: [{ resource: Parameters<typeof attributeOf>[0] }]
    }
    const { resource } = resourceSpans[0]
    expect(
      ['service.name', 'service.version', 'service.instance.id'].map((key) => attributeOf(resource, key)),
    ).toEqual(['signal-service', '1.2.3', 'process-1'])
  })

  test('may refuse: it is told once, and ending goes on', async () => {
    collector.status = 400
    const tracing = open(1)
    for (let n = 0; n < 600; n++) tracing.enter(START)?.end()
    await tracing.close().catch((fault: unknown) => faults.push(fault as Error))
    expect(collector.exports.length).toBeGreaterThan(1)
    expect(faults.length).toBeGreaterThan(0)
    expect(faults.filter(({ message }) => message.includes('Bearer'))).toEqual([])
  })
})
