import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as OTLP writes it in JSON. */
export interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly status: { readonly code?: number; readonly message?: string }
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: Pick<SentSpan, 'attributes'>
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[]
  }[]
}

export interface Collector {
  readonly url: string
  readonly spans: SentSpan[]
  /** Bodies and headers, as they came. */
  readonly exports: {
    readonly path: string
    readonly headers: Readonly<Record<string, unknown>>
    readonly body: string
  }[]
  /** The answer from now on. */
  status: number
  close(): Promise<void>
}

/** Takes traces by OTLP over HTTP as a collector does, on a free port. */
export async function startCollector(): Promise<Collector> {
  const spans: SentSpan[] = []
  const exports: Collector['exports'] = []
  const collector = { status: 200 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      exports.push({ path: request.url ?? '', headers: request.headers, body })
      if (collector.status === 200) {
        const { resourceSpans } = JSON.parse(body) as Export
        spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
      }
      response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(collector, {
    url,
    spans,
    exports,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

/** The value of an attribute, whatever its type. */
export const attributeOf = (span: Pick<SentSpan, 'attributes'>, key: string): unknown =>
  Object.values(span.attributes.find((attribute) => attribute.key === key)?.value ?? {})[0]
