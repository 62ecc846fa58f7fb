import { randomBytes } from 'node:crypto'
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace'
import { describe, expect, test } from 'vitest'
import { createMemoryLog, openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { anEvent, collect, describeEventStoreContract } from '../../log/event-store.contract.ts'
import { type AppendDone, traceAppends } from '../../log/trace-appends.ts'
import { readTraceparent } from './trace-context.ts'
import { createTracing } from './tracing.ts'

const GIVEN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describeEventStoreContract('memory, traced', async () => {
  const log = createMemoryLog()
  const open = () => world({ ratio: 0, log }).store
  let store = open()
  return {
    store,
    async restart() {
      await store.close()
      store = open()
      return store
    },
    faults: [],
    close: () => store.close(),
  }
})

/** A traced store, and what it said. */
function world({ ratio = 0, log = createMemoryLog() } = {}) {
  const spans: ReadableSpan[] = []
  const exporter = new InMemorySpanExporter()
  const tracing = createTracing({
    exporter: {
      export(some, done) {
        spans.push(...some)
        exporter.export(some, done)
      },
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    },
    ratio,
    serviceName: 'signal-service',
    version: '1',
    processId: 'one',
    random: () => 0.5,
    randomBytes,
  })
  const dones: Parameters<AppendDone>[0][] = []
  let milliseconds = 0
  const store = traceAppends(openMemoryStore({ now: Date.now, log }), {
    tracing,
    system: 'memory',
    done: (append) => dones.push(append),
    monotonic: () => (milliseconds += 250),
  })
  return { store, spans, dones, close: () => tracing.close() }
}

const traced = (traceparent?: string) => {
  const event = anEvent()
  return { ...event, meta: { ...event.meta, ...(traceparent && { traceparent }) } }
}

describe('an append', () => {
  test('of a recorded request is a span of it, and carries it on in what is appended', async () => {
    const { store, spans, close } = world()
    const other = traced(GIVEN.replace('b7', 'c8'))
    await store.append('quota-a.2026-11', [traced(GIVEN), other], { expected: 'no-stream' })
    const [first, second] = await collect(store.read('quota-a.2026-11'))
    await close()
    expect(spans).toHaveLength(1)
    const [span] = spans
    expect(span).toMatchObject({ name: 'append quota', parentSpanContext: { spanId: 'b7ad6b7169203331' } })
    expect(span?.attributes).toMatchObject({ 'db.system.name': 'memory', 'db.operation.batch.size': 2 })
    expect(JSON.stringify(span?.attributes)).not.toContain('quota-a')
    const { traceId, spanId } = span?.spanContext() ?? {}
    expect(readTraceparent(first?.meta.traceparent)).toEqual({ traceId, spanId, isSampled: true })
    // What another request caused stays its own.
    expect(second?.meta.traceparent).toBe(other.meta.traceparent)
  })

  test('that nobody traced may begin a trace', async () => {
    const { store, spans, close } = world({ ratio: 1 })
    await store.append('verdict-SIM.BTC.1m', [traced()], { expected: 'no-stream' })
    const [event] = await collect(store.read('verdict-SIM.BTC.1m'))
    await close()
    expect(spans.map(({ name }) => name)).toEqual(['append verdict'])
    expect(readTraceparent(event?.meta.traceparent)?.spanId).toBe(spans[0]?.spanContext().spanId)
  })

  test('of a request that is not recorded stays as it is', async () => {
    const { store, spans, close } = world({ ratio: 1 })
    const given = GIVEN.replace(/1$/, '0')
    await store.append('quota-a.2026-11', [traced(given)], { expected: 'no-stream' })
    await close()
    expect(spans).toEqual([])
    expect((await collect(store.read('quota-a.2026-11')))[0]?.meta.traceparent).toBe(given)
  })

  test('that is refused says its code, and is the same append when it is repeated', async () => {
    const { store, spans, dones, close } = world({ ratio: 1 })
    const event = traced()
    await store.append('verdict-SIM.BTC.1m', [event], { expected: 'no-stream' })
    const again = await store.append('verdict-SIM.BTC.1m', [event], { expected: 'no-stream' })
    expect(again.replayed).toBe(true)
    await expect(
      store.append('verdict-SIM.BTC.1m', [traced()], { expected: 'no-stream' }),
    ).rejects.toMatchObject({
      code: 'revision_conflict',
    })
    await close()
    expect(spans.map(({ attributes }) => attributes['error.type'])).toEqual([
      undefined,
      undefined,
      'revision_conflict',
    ])
    expect(dones.map(({ error }) => error)).toEqual([undefined, undefined, 'revision_conflict'])
    expect(dones[0]?.durationS).toBe(0.25)
  })
})
