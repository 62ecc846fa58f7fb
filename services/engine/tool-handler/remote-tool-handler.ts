import { z } from 'zod'
import { type ErrorCode, isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Json } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type ToolName, type ToolResponse, toolNamed } from '../../../contracts/tools/tool-catalogue.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import { createEngineList, type EngineList, HERE_SUBJECT } from './engine-list.ts'
import { createNewestAnswers, type NewestAnswersOptions } from './newest-answers.ts'
import { parseToolRequest, type ToolHandler } from './tool-handler.ts'

/** Subject of tool calls: for any process that computes, or with a name appended for one of them. */
const SUBJECT = 'engine.tool'

/** Longer than a tool waits for a series, so that its own refusal arrives. */
const ANSWER_WITHIN_MS = LIMITS.onDemandWaitMs + 5_000
/** Refusals of one process that say nothing about the next. */
const ELSEWHERE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['bus_unavailable', 'shutting_down'])
/** Processes that one call is asked of. */
const MOST_ASKED = 3

const askedSchema = z.object({ tool: z.string(), request: z.unknown(), asker: z.string().optional() })

/** Answers tool calls of other processes, until the signal. Several that do so share them. @param name of this process */
export function serveTools(
  bus: Bus,
  toolHandler: ToolHandler,
  { name, signal }: { name: string; signal: AbortSignal },
): void {
  const answer = async (body: Json): Promise<Json> => {
    const { tool, request, asker } = askedSchema.parse(body)
    return (await toolHandler.answer(toolNamed(tool), request, asker)) as Json
  }
  for (const subject of [SUBJECT, `${SUBJECT}.${name}`]) bus.serve(subject, answer, { signal })
  for (const subject of [HERE_SUBJECT, `${HERE_SUBJECT}.${name}`]) {
    bus.serve(subject, () => Promise.resolve(name), { signal })
  }
}

export interface RemoteToolHandler extends ToolHandler {
  /** Looks which processes compute, until the signal. */
  run(signal: AbortSignal): Promise<void>
  /** How many of those processes answer, and how many are silent. */
  health(): ReturnType<EngineList['health']>
}

export interface RemoteToolHandlerOptions extends NewestAnswersOptions, Pick<Clock, 'sleep'> {
  readonly bus: Pick<Bus, 'request'>
  /** Told why nobody answered, which is nothing for callers. */
  readonly report: (error: unknown) => void
}

/**
 * The tool handler of a process that does not compute. It answers from the newest verdict that it has for as long as there can
 * be no newer one, and asks a process that computes for everything else. Where that says nothing for half a second, it
 * is asked again elsewhere, and the first answer is the answer. Requests are checked here first, so that a bad one costs
 * no message. Refusals arrive as they were thrown.
 */
export function createRemoteToolHandler(options: RemoteToolHandlerOptions): RemoteToolHandler {
  const { report } = options
  const engines = createEngineList(options)
  const newest = createNewestAnswers(options)

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
      if (known === undefined) {
        try {
          const answer = (await ask(body, engines, options)) as ToolResponse<Name>
          newest.learn(checked, answer)
          return answer
        } catch (error) {
          if (!isServiceError(error, 'engine_unavailable')) throw error
          const less = await newest.withoutEngine(tool, checked)
          if (less === undefined) throw error
          return less as ToolResponse<Name>
        }
      }
      // A series that nobody asks for is not followed for ever.
      if (known.isToBeAskedFor) ask(body, engines, options).catch((error: unknown) => report(reasonOf(error)))
      return known.answer as ToolResponse<Name>
    },
    run: (signal) => engines.run(signal),
    health: () => engines.health(),
  }
}

/** Asks one process after the other, in parallel, until one answers. */
function ask(
  body: Json,
  engines: EngineList,
  { bus, sleep, report }: Pick<RemoteToolHandlerOptions, 'bus' | 'sleep' | 'report'>,
): Promise<Json> {
  const { promise, resolve, reject } = Promise.withResolvers<Json>()
  const over = new AbortController()
  const asked = new Set<string>()
  let [begun, failed] = [0, 0]

  const giveUp = (cause: unknown): void => {
    if (over.signal.aborted) return
    report(cause)
    reject(new ServiceError('engine_unavailable', { cause }))
    over.abort()
  }
  async function attempt(): Promise<void> {
    const name = engines.pick(asked)
    // All that there are were asked, and are well: they only take their time.
    if (begun >= MOST_ASKED || (name === undefined && asked.size > 0 && engines.health().answering > 0))
      return
    begun += 1
    if (name !== undefined) asked.add(name)
    const waiting = new AbortController()
    hedge(name, AbortSignal.any([over.signal, waiting.signal])).catch(giveUp)
    try {
      const subject = name === undefined ? SUBJECT : `${SUBJECT}.${name}`
      resolve(await bus.request(subject, body, { timeoutMs: ANSWER_WITHIN_MS }))
      over.abort()
    } catch (error) {
      const isOfOne = isServiceError(error) && ELSEWHERE.has(error.code)
      waiting.abort()
      failed += 1
      if (!isOfOne) {
        reject(error)
        over.abort()
      } else if (!over.signal.aborted) await attempt()
      if (failed === begun) giveUp(error)
    }
  }
  async function hedge(name: string | undefined, until: AbortSignal): Promise<void> {
    await sleep(LIMITS.engineHedgeMs, until)
    if (until.aborted) return
    if (name !== undefined) await engines.doubt(name)
    if (!until.aborted && begun >= MOST_ASKED && engines.health().answering === 0) giveUp(silenceError())
    if (!until.aborted) await attempt()
  }
  attempt().catch(giveUp)
  return promise
}

const silenceError = (): ServiceError =>
  new ServiceError('bus_unavailable', { message: 'no process that computes says that it is there' })
