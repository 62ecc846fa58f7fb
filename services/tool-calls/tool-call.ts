import type { ServiceBlock } from '../../contracts/answers/service-block.ts'
import type { Channel } from '../../contracts/events/quota-events.ts'
import type { JsonObject, JsonText } from '../../contracts/infra/json.ts'

/** A tool call as a channel hands it over. */
export interface ToolCall {
  readonly tool: string
  /** The caller's request, unchecked. */
  readonly request: unknown
  /** The `Authorization` header as it came; undefined where there was none. */
  readonly authorization: string | undefined
  /** Network address of the caller, behind trusted proxies only. */
  readonly address: string
  /** The `Idempotency-Key` header; undefined where there was none. */
  readonly idempotencyKey: string | undefined
  readonly requestId: string
  readonly channel: Channel
  /** W3C trace context. */
  readonly traceparent?: string | undefined
}

export interface ToolAnswer {
  /** The tool's answer with `_service`. */
  readonly body: JsonObject
  /** The same as JSON text, where it is at hand, so that a channel need not make it again. */
  readonly text?: JsonText | undefined
  /** True where the same idempotency key was answered before: this is that answer, and nothing was charged. */
  readonly isReplay: boolean
}

/** An answer with its `_service`. Its text is put together from the one that was recorded, unless that takes more. */
export const withService = (
  stored: JsonObject,
  recorded: JsonText,
  service: ServiceBlock,
): Pick<ToolAnswer, 'body' | 'text'> => ({
  body: { ...stored, _service: service },
  text:
    recorded.text === '{}' || '_service' in stored
      ? undefined
      : recorded.with(`"_service":${JSON.stringify(service)}`),
})

/** The one path that every tool call takes: identify, compute, commit, answer. */
export interface CallPath {
  /**
   * Answers a tool call; when it resolves, the debit and the answer are durable.
   *
   * @throws ServiceError, and then nothing was charged: `key_unknown`, `key_unverifiable`, `unknown_tool`,
   *   `invalid_request`, `quota_exhausted`, `idempotency_mismatch`, `rate_limited`, what the tool refuses with,
   *   and those of the store
   */
  call(call: ToolCall): Promise<ToolAnswer>
}
