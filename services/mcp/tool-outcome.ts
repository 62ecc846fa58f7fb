import type { FastifyBaseLogger } from 'fastify'
import type { JsonObject } from '../../contracts/json.ts'
import type { CauseLog } from '../http/cause-log.ts'
import type { ToolAnswer } from '../tool-calls/index.ts'
import type { RpcError } from './jsonrpc.ts'
import type { McpTelemetry } from './mcp-telemetry.ts'

/** The part of a request that a tool call needs beside its message. */
export interface Caller {
  readonly authorization: string | undefined
  readonly address: string
  readonly idempotencyKey: string | undefined
  readonly traceparent: string | undefined
  readonly requestId: string
  /** Aborted when nobody waits for the answer any more; asked for only where something has to be waited for. */
  readonly signal: () => AbortSignal
  readonly log: FastifyBaseLogger
  readonly logCause?: CauseLog | undefined
  /** Nothing is measured where it is left out. */
  readonly telemetry?: McpTelemetry | undefined
}

/** The members of a call that are its caller's. */
export const byCaller = ({ authorization, address, idempotencyKey, requestId, traceparent }: Caller) => ({
  authorization,
  address,
  idempotencyKey,
  requestId,
  traceparent,
})

/** The result of the check of the caller's key. */
export type KeyCheck = 'ok' | 'unknown' | 'unverifiable'

/** The outcome of a tool call: an answer, a refusal that a model can read, or an error of the protocol. */
export type ToolOutcome =
  | (ToolAnswer & {
      readonly kind: 'answer'
      /** The outcome of the payment that came with the call. */
      readonly settlement?: JsonObject | undefined
    })
  | { readonly kind: 'refusal'; readonly text: string; readonly body: JsonObject }
  /** The offer for the call, and the reason why it must be paid. */
  | { readonly kind: 'offer'; readonly body: JsonObject }
  | { readonly kind: 'error'; readonly error: RpcError }
