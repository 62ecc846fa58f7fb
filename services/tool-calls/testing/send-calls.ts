import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** A tool call to be sent, and sent again under the same key where its outcome is not known. */
export interface SentCall {
  readonly url: string
  readonly key?: string
}

/** The result of a call, as its client knows it. */
export interface CallOutcome {
  readonly key?: string
  /** The body of an answer. */
  readonly serial?: string
  readonly used?: number
  readonly isReplay?: boolean
  /** The code of a refusal. */
  readonly code?: string
  readonly message?: string
  /** The connection broke: it may have been counted, or not. */
  readonly isLost?: boolean
}

/** A client's end of many connections. */
export function createCaller(connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })

  /** Never rejects. */
  async function send({ url, key }: SentCall): Promise<CallOutcome> {
    const named = key === undefined ? {} : { key }
    try {
      const { serial, code, message, isReplay, _service } = await post(url, key)
      if (code !== undefined) return { ...named, code, message }
      return { ...named, serial, isReplay, used: _service.quota.used }
    } catch {
      return { ...named, isLost: true }
    }
  }

  function post(url: string, key: string | undefined) {
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof JSON.parse>>()
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const sending = request(url, { method: 'POST', agent, headers }, (response) => {
      text(response).then((body) => resolve(JSON.parse(body)), reject)
    })
    sending.on('error', reject)
    sending.end('{"coin":"BTC"}')
    return promise
  }

  return { send, close: () => agent.destroy() }
}
