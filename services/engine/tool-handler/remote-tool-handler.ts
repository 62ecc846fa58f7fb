import { z } from 'zod'
import { type ErrorCode, isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Json } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type ToolName, type ToolResponse, toolNamed } from '../../../contracts/tools/tool-catalogue.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import { createNewestAnswers, type NewestAnswersOptions } from './newest-answers.ts'
import { parseToolRequest, type ToolHandler } from './tool-handler.ts'

/** Subject of tool calls; the engines share them. */
const SUBJECT = 'engine.tool'
/** Longer than a tool waits for a series, so that its own refusal arrives. */
const ANSWER_WITHIN_MS = LIMITS.onDemandWaitMs + 5_000
/** Failures of one engine after which another one is asked. */
const ELSEWHERE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['dependency_unavailable', 'shutting_down'])

const callSchema = z.object({ tool: z.string(), request: z.unknown(), asker: z.string().optional() })

/** Answers tool calls of other processes, until the signal. */
export function serveTools(bus: Bus, toolHandler: ToolHandler, signal: AbortSignal): void {
  const answer = async (body: Json): Promise<Json> => {
    const { tool, request, asker } = callSchema.parse(body)
    return (await toolHandler.answer(toolNamed(tool), request, asker)) as Json
  }
  bus.serve(SUBJECT, answer, { signal })
}

export interface RemoteToolHandler extends ToolHandler {
  /** Why no engine answered the last call; undefined if one did. */
  problem(): string | undefined
}

export interface RemoteToolHandlerOptions extends NewestAnswersOptions, Pick<Clock, 'sleep'> {
  readonly bus: Pick<Bus, 'request'>
  /** Receives why no engine answered, which callers do not see. */
  readonly report: (error: unknown) => void
}

/**
 * The tool handler of a process without an engine. It answers from the newest recorded verdict until the next bar closes,
 * and asks an engine for everything else, once more if the first one is silent or stopping. Requests are checked here, so
 * that a bad one costs no message. Refusals arrive as they were thrown.
 */
export function createRemoteToolHandler(options: RemoteToolHandlerOptions): RemoteToolHandler {
  const { bus, sleep, report } = options
  const newest = createNewestAnswers(options)
  let problem: string | undefined

  async function askOnce(
    body: Json,
  ): Promise<{ readonly answer: Json } | { readonly failure: ServiceError }> {
    try {
      return { answer: await bus.request(SUBJECT, body, { timeoutMs: ANSWER_WITHIN_MS }) }
    } catch (error) {
      if (isServiceError(error) && ELSEWHERE.has(error.code)) return { failure: error }
      throw error
    }
  }

  async function ask(body: Json): Promise<Json> {
    const first = askOnce(body)
    const over = new AbortController()
    const silence = sleep(LIMITS.engineHedgeMs, over.signal)
    const early = await Promise.race([first, silence]).finally(() => over.abort())
    let result = early ?? { failure: undefined }
    if (!('answer' in result)) {
      const second = askOnce(body)
      result = await (early === undefined ? Promise.race([first, second]) : second)
      if (!('answer' in result) && early === undefined) result = await second
    }
    problem = 'answer' in result ? undefined : reasonOf(result.failure)
    if ('answer' in result) return result.answer
    report(result.failure)
    throw new ServiceError('engine_unavailable', { cause: result.failure })
  }

  return {
    async answer<Name extends ToolName>(
      tool: Name,
      request: unknown,
      asker?: string,
    ): Promise<ToolResponse<Name>> {
      const checked = parseToolRequest(tool, request)
      const body: Json = {
        tool,
        request: JSON.parse(JSON.stringify(checked)) as Json,
        ...(asker !== undefined && { asker }),
      }
      const known = newest.answer(tool, checked)
      if (known !== undefined) {
        // A series is followed only as long as it is asked for.
        if (known.isToBeAskedFor) ask(body).catch((error: unknown) => report(reasonOf(error)))
        return known.answer as ToolResponse<Name>
      }
      try {
        const answer = (await ask(body)) as ToolResponse<Name>
        newest.learn(checked, answer)
        return answer
      } catch (error) {
        if (!isServiceError(error, 'engine_unavailable')) throw error
        const less = await newest.withoutEngine(tool, checked)
        if (less === undefined) throw error
        return less as ToolResponse<Name>
      }
    },
    problem: () => problem,
  }
}
