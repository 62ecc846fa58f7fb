import { Histogram, type Registry } from 'prom-client'
import type { Json } from '../../contracts/json.ts'
import type { Tracing } from '../runtime/tracing/tracing.ts'

/** Other texts of callers must not make labels. */
const OTHER = '_OTHER'

/** Durations and spans of MCP's operations, by the names of OpenTelemetry. */
export interface McpTelemetry {
  /** Begins a tool call; what is handed on belongs to its span. */
  toolCall(name: Json | undefined, traceparent: string | undefined): McpOperation
}

export interface McpOperation {
  readonly traceparent: string | undefined
  /** @param error why it failed; undefined where it did not */
  end(error: string | undefined): void
}

/** @param options.tools names with a label of their own @param options.monotonic milliseconds */
export function createMcpTelemetry(options: {
  readonly registry: Registry
  readonly tools: ReadonlySet<string>
  readonly tracing?: Tracing | undefined
  readonly monotonic: () => number
}): McpTelemetry {
  const { tracing, monotonic, tools } = options
  const duration = new Histogram({
    name: 'mcp_server_operation_duration_seconds',
    help: 'Time that the operations of MCP take, by method, tool, and why they failed',
    labelNames: ['mcp_method_name', 'gen_ai_tool_name', 'error_type'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [options.registry],
  })
  const since = (startedAt: number): number => (monotonic() - startedAt) / 1_000
  return {
    toolCall(name, traceparent) {
      const startedAt = monotonic()
      const tool = typeof name === 'string' && tools.has(name) ? name : OTHER
      const attributes = {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
      }
      const span = tracing?.follow({ name: `tools/call ${tool}`, kind: 'server', attributes }, traceparent)
      return {
        traceparent: span?.traceparent ?? traceparent,
        end(error) {
          span?.end({ error })
          const labels = { mcp_method_name: 'tools/call', gen_ai_tool_name: tool, error_type: error ?? '' }
          duration.observe(labels, since(startedAt))
        },
      }
    },
  }
}
