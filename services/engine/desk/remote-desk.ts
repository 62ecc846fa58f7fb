import { z } from 'zod'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { Json } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type ToolName, type ToolResponse, toolNamed } from '../../../contracts/tools/tool-catalogue.ts'
import type { Bus } from '../../platform/bus/bus.ts'
import type { Desk } from './desk.ts'
import { parseToolRequest } from './parse-tool-request.ts'

/** Where tool calls are asked for. */
const SUBJECT = 'engine.tool'

/** Longer than a tool waits for a series, so that its own refusal arrives. */
const ANSWER_WITHIN_MS = LIMITS.onDemandWaitMs + 5_000

const askedSchema = z.object({ tool: z.string(), request: z.unknown(), asker: z.string().optional() })

/** Answers tool calls of other processes, until the signal. Several that do so share them. */
export function serveDesk(bus: Bus, desk: Desk, signal: AbortSignal): void {
  bus.serve(
    SUBJECT,
    async (body) => {
      const { tool, request, asker } = askedSchema.parse(body)
      return desk.answer(toolNamed(tool), request, asker)
    },
    { signal },
  )
}

/**
 * The desk of a process that does not compute: it asks one that does. Requests are checked here first, so that
 * a bad one costs no message. Refusals arrive as they were thrown.
 *
 * @example const desk = createRemoteDesk(bus)
 */
export function createRemoteDesk(bus: Bus): Desk {
  return {
    async answer<Name extends ToolName>(
      tool: Name,
      request: unknown,
      asker?: string,
    ): Promise<ToolResponse<Name>> {
      const checked = parseToolRequest(tool, request)
      try {
        const body: Json = {
          tool,
          request: JSON.parse(JSON.stringify(checked)) as Json,
          ...(asker !== undefined && { asker }),
        }
        return (await bus.request(SUBJECT, body, { timeoutMs: ANSWER_WITHIN_MS })) as ToolResponse<Name>
      } catch (error) {
        if (!isServiceError(error, 'bus_unavailable')) throw error
        throw new ServiceError('engine_unavailable', {
          message: `no process that computes verdicts answered: ${error.message}`,
          cause: error,
        })
      }
    },
  }
}
